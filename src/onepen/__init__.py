"""Memory for LLM agents in plain files, and an orchestrator that hands work to short-lived sub-agents."""

__version__ = "0.1.0"
