"""The base of what subagents/ raises: a definition, the wire, a worker."""

from ..memory.errors import OnepenError


class SubagentFault(OnepenError):
    """Raised by subagents/: a definition that doesn't exist, a wire that broke, a request that was refused."""
