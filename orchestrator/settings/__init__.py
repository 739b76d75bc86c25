"""What the person decided: config, profiles, credentials, trust, and which model a name means."""
