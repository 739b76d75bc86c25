"""What a person should put right in a workspace, found without changing a byte."""
