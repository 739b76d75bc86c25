"""One process for each workspace: its socket, who may speak on it, and the commands' end of the line."""
