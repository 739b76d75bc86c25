"""A double of the Messages API: a real server on this machine that answers by rules, with every fault on demand."""

from .asked import Asked
from .rules import RulesUnreadable
from .server import MessagesApi, Seen

__all__ = ["Asked", "MessagesApi", "RulesUnreadable", "Seen"]
