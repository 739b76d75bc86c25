"""The main agent: its prompt, its tools, its conversation with a person."""
