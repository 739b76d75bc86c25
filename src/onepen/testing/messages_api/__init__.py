"""A double of the Messages API: a real server on this machine that answers by rules, with every fault on demand."""

from .asked import Asked
from .batches import Batch, Paid
from .rules import Batching, RulesUnreadable
from .seen import Seen
from .server import MessagesApi

__all__ = ["Asked", "Batch", "Batching", "MessagesApi", "Paid", "RulesUnreadable", "Seen"]
