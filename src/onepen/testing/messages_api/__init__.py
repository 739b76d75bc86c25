"""A double of the Messages API: a real server on this machine that answers by rules, with every fault on demand."""

from .asked import Asked
from .rules import RulesUnreadable
from .seen import Seen
from .server import MessagesApi

__all__ = ["Asked", "MessagesApi", "RulesUnreadable", "Seen"]
