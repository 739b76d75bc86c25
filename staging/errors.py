"""What staging/ refuses; a worker's bad draft is no error but a `Finding`."""

from ..memory.errors import OnepenError


class StagingFault(OnepenError):
    """Raised by staging/: a draft, an input or a verdict that can't be made as asked."""
