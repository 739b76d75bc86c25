"""What a sub-agent can do: its tools, and the folders that they reach."""
