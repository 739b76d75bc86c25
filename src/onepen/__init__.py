"""Memory for LLM agents in plain files, and an orchestrator that hands work to short-lived sub-agents.

This is the whole public list: what is not in it may change. A name is imported when it is first asked for, so that
`import onepen` takes no time and a program pays only for what it uses.
"""

from .version import __version__ as __version__

TYPE_CHECKING = False  # what type checkers take for true; importing `typing` for it would double the time

if TYPE_CHECKING:
    from .memory.clock import Clock as Clock
    from .memory.clock import SystemClock as SystemClock
    from .memory.errors import MemoryFault as MemoryFault
    from .memory.errors import OnepenError as OnepenError
    from .memory.exam.remedy import Fix as Fix
    from .memory.history import Commit as Commit
    from .memory.history import TextChange as TextChange
    from .memory.holder import PenHeld as PenHeld
    from .memory.ids import AgentId as AgentId
    from .memory.ids import CardId as CardId
    from .memory.ids import ClientId as ClientId
    from .memory.ids import DraftId as DraftId
    from .memory.ids import TaskId as TaskId
    from .memory.index.entry import IndexEntry as IndexEntry
    from .memory.layers import Layer as Layer
    from .memory.problem import Problem as Problem
    from .memory.recall.search import Hit as Hit
    from .memory.scaffold import init as init
    from .memory.settings import WorkspaceSettings as WorkspaceSettings
    from .memory.target import CardTarget as CardTarget
    from .memory.target import FileTarget as FileTarget
    from .memory.target import NoteTarget as NoteTarget
    from .memory.target import Target as Target
    from .memory.target import parse_target as parse_target
    from .memory.view import View as View
    from .memory.workspace import Space as Space
    from .memory.workspace import Workspace as Workspace
    from .memory.workspace import find_workspace as find_workspace
    from .memory.workspace import open_workspace as open_workspace
    from .orchestrator.batch.answer import BatchesResult as BatchesResult
    from .orchestrator.batch.answer import BatchPlan as BatchPlan
    from .orchestrator.batch.answer import BatchView as BatchView
    from .orchestrator.batch.request import BatchRequest as BatchRequest
    from .orchestrator.batch.request import GoOn as GoOn
    from .orchestrator.cancelled import CancelResult as CancelResult
    from .orchestrator.chat.answer import RenewalResult as RenewalResult
    from .orchestrator.chat.answer import TurnResult as TurnResult
    from .orchestrator.compose import build_service as build_service
    from .orchestrator.decision import Decision as Decision
    from .orchestrator.decision import DecisionResult as DecisionResult
    from .orchestrator.diagnosis import DoctorResult as DoctorResult
    from .orchestrator.diagnosis import Fixed as Fixed
    from .orchestrator.diagnosis import FixResult as FixResult
    from .orchestrator.errors import OrchestratorFault as OrchestratorFault
    from .orchestrator.gateway.account import Caps as Caps
    from .orchestrator.kept import RenameResult as RenameResult
    from .orchestrator.mirror.standing import MirrorView as MirrorView
    from .orchestrator.past import HistoryResult as HistoryResult
    from .orchestrator.past import UndoResult as UndoResult
    from .orchestrator.past import WhyResult as WhyResult
    from .orchestrator.pruned import PrunedKind as PrunedKind
    from .orchestrator.pruned import PruneResult as PruneResult
    from .orchestrator.pruned import PruneWish as PruneWish
    from .orchestrator.pruned import RemovalResult as RemovalResult
    from .orchestrator.requests import BrokeOff as BrokeOff
    from .orchestrator.requests import ChatBegun as ChatBegun
    from .orchestrator.requests import ChatRequest as ChatRequest
    from .orchestrator.requests import Confirm as Confirm
    from .orchestrator.requests import DelegateRequest as DelegateRequest
    from .orchestrator.requests import Notice as Notice
    from .orchestrator.requests import OnEvent as OnEvent
    from .orchestrator.requests import Progress as Progress
    from .orchestrator.requests import ProgressLine as ProgressLine
    from .orchestrator.requests import SearchRequest as SearchRequest
    from .orchestrator.requests import ToolCalled as ToolCalled
    from .orchestrator.requests import TurnEvent as TurnEvent
    from .orchestrator.requests import Words as Words
    from .orchestrator.results import CommitResult as CommitResult
    from .orchestrator.results import ContextResult as ContextResult
    from .orchestrator.results import DelegateResult as DelegateResult
    from .orchestrator.results import DraftsResult as DraftsResult
    from .orchestrator.results import DraftView as DraftView
    from .orchestrator.results import OrchestratorView as OrchestratorView
    from .orchestrator.results import SearchResult as SearchResult
    from .orchestrator.results import StatusResult as StatusResult
    from .orchestrator.results import TaskView as TaskView
    from .orchestrator.results import UsageTotals as UsageTotals
    from .orchestrator.service import Service as Service
    from .orchestrator.settings.load import load_setup as load_setup
    from .orchestrator.settings.models import Models as Models
    from .orchestrator.settings.models import Resolver as Resolver
    from .orchestrator.settings.models import Served as Served
    from .orchestrator.settings.setup import Profile as Profile
    from .orchestrator.settings.setup import Secret as Secret
    from .orchestrator.settings.setup import Setup as Setup
    from .orchestrator.stop import StopSign as StopSign
    from .orchestrator.tally import UsageResult as UsageResult
    from .orchestrator.tasks.naming import Ids as Ids
    from .orchestrator.watched import LeftView as LeftView
    from .orchestrator.watched import WorkersView as WorkersView
    from .orchestrator.watched import WorkerView as WorkerView
    from .staging.draft import Draft as Draft
    from .staging.errors import StagingFault as StagingFault
    from .staging.finding import Finding as Finding
    from .staging.verdict import Accepted as Accepted
    from .staging.verdict import Bound as Bound
    from .staging.verdict import Escalated as Escalated
    from .staging.verdict import Refused as Refused
    from .staging.verdict import SentBack as SentBack
    from .staging.verdict import Verdict as Verdict
    from .subagents.assignment import Assignment as Assignment
    from .subagents.assignment import Limits as Limits
    from .subagents.definition import AgentDefinition as AgentDefinition
    from .subagents.definition import parse_definition as parse_definition
    from .subagents.ending import Ending as Ending
    from .subagents.ending import Failed as Failed
    from .subagents.ending import Reported as Reported
    from .subagents.ending import Stopped as Stopped
    from .subagents.ending import TimedOut as TimedOut
    from .subagents.errors import SubagentFault as SubagentFault
    from .subagents.host import Host as Host
    from .subagents.messages import Block as Block
    from .subagents.messages import Message as Message
    from .subagents.messages import Text as Text
    from .subagents.messages import ToolResult as ToolResult
    from .subagents.messages import ToolUse as ToolUse
    from .subagents.model import Model as Model
    from .subagents.model import ModelReply as ModelReply
    from .subagents.model import ModelRequest as ModelRequest
    from .subagents.model import ToolSpec as ToolSpec
    from .subagents.model import Usage as Usage
    from .subagents.pool import Pool as Pool
    from .subagents.pool import ProcessPool as ProcessPool

__all__ = [
    "Accepted",
    "AgentDefinition",
    "AgentId",
    "Assignment",
    "BatchPlan",
    "BatchRequest",
    "BatchView",
    "BatchesResult",
    "Block",
    "Bound",
    "BrokeOff",
    "CancelResult",
    "Caps",
    "CardId",
    "CardTarget",
    "ChatBegun",
    "ChatRequest",
    "ClientId",
    "Clock",
    "Commit",
    "CommitResult",
    "Confirm",
    "ContextResult",
    "Decision",
    "DecisionResult",
    "DelegateRequest",
    "DelegateResult",
    "DoctorResult",
    "Draft",
    "DraftId",
    "DraftView",
    "DraftsResult",
    "Ending",
    "Escalated",
    "Failed",
    "FileTarget",
    "Finding",
    "Fix",
    "FixResult",
    "Fixed",
    "GoOn",
    "HistoryResult",
    "Hit",
    "Host",
    "Ids",
    "IndexEntry",
    "Layer",
    "LeftView",
    "Limits",
    "MemoryFault",
    "Message",
    "MirrorView",
    "Model",
    "ModelReply",
    "ModelRequest",
    "Models",
    "NoteTarget",
    "Notice",
    "OnEvent",
    "OnepenError",
    "OrchestratorFault",
    "OrchestratorView",
    "PenHeld",
    "Pool",
    "Problem",
    "ProcessPool",
    "Profile",
    "Progress",
    "ProgressLine",
    "PruneResult",
    "PruneWish",
    "PrunedKind",
    "Refused",
    "RemovalResult",
    "RenameResult",
    "RenewalResult",
    "Reported",
    "Resolver",
    "SearchRequest",
    "SearchResult",
    "Secret",
    "SentBack",
    "Served",
    "Service",
    "Setup",
    "Space",
    "StagingFault",
    "StatusResult",
    "StopSign",
    "Stopped",
    "SubagentFault",
    "SystemClock",
    "Target",
    "TaskId",
    "TaskView",
    "Text",
    "TextChange",
    "TimedOut",
    "ToolCalled",
    "ToolResult",
    "ToolSpec",
    "ToolUse",
    "TurnEvent",
    "TurnResult",
    "UndoResult",
    "Usage",
    "UsageResult",
    "UsageTotals",
    "Verdict",
    "View",
    "WhyResult",
    "Words",
    "WorkerView",
    "WorkersView",
    "Workspace",
    "WorkspaceSettings",
    "build_service",
    "find_workspace",
    "init",
    "load_setup",
    "open_workspace",
    "parse_definition",
    "parse_target",
]

_HOMES = {
    "memory.clock": ("Clock", "SystemClock"),
    "memory.errors": ("MemoryFault", "OnepenError"),
    "memory.exam.remedy": ("Fix",),
    "memory.history": ("Commit", "TextChange"),
    "memory.holder": ("PenHeld",),
    "memory.ids": ("AgentId", "CardId", "ClientId", "DraftId", "TaskId"),
    "memory.index.entry": ("IndexEntry",),
    "memory.layers": ("Layer",),
    "memory.problem": ("Problem",),
    "memory.recall.search": ("Hit",),
    "memory.scaffold": ("init",),
    "memory.settings": ("WorkspaceSettings",),
    "memory.target": ("CardTarget", "FileTarget", "NoteTarget", "Target", "parse_target"),
    "memory.view": ("View",),
    "memory.workspace": ("Space", "Workspace", "find_workspace", "open_workspace"),
    "orchestrator.compose": ("build_service",),
    "orchestrator.decision": ("Decision", "DecisionResult"),
    "orchestrator.diagnosis": ("DoctorResult", "FixResult", "Fixed"),
    "orchestrator.errors": ("OrchestratorFault",),
    "orchestrator.gateway.account": ("Caps",),
    "orchestrator.settings.load": ("load_setup",),
    "orchestrator.settings.setup": ("Profile", "Secret", "Setup"),
    "orchestrator.tally": ("UsageResult",),
    "orchestrator.settings.models": ("Models", "Resolver", "Served"),
    "orchestrator.chat.answer": ("RenewalResult", "TurnResult"),
    "orchestrator.batch.answer": ("BatchPlan", "BatchView", "BatchesResult"),
    "orchestrator.batch.request": ("BatchRequest", "GoOn"),
    "orchestrator.cancelled": ("CancelResult",),
    "orchestrator.watched": ("LeftView", "WorkerView", "WorkersView"),
    "orchestrator.kept": ("RenameResult",),
    "orchestrator.mirror.standing": ("MirrorView",),
    "orchestrator.past": ("HistoryResult", "UndoResult", "WhyResult"),
    "orchestrator.pruned": ("PruneResult", "PruneWish", "PrunedKind", "RemovalResult"),
    "orchestrator.requests": (
        "BrokeOff",
        "ChatBegun",
        "ChatRequest",
        "Confirm",
        "DelegateRequest",
        "Notice",
        "OnEvent",
        "Progress",
        "ProgressLine",
        "SearchRequest",
        "ToolCalled",
        "TurnEvent",
        "Words",
    ),
    "orchestrator.results": (
        "CommitResult",
        "ContextResult",
        "DelegateResult",
        "DraftView",
        "DraftsResult",
        "OrchestratorView",
        "SearchResult",
        "StatusResult",
        "TaskView",
        "UsageTotals",
    ),
    "orchestrator.service": ("Service",),
    "orchestrator.stop": ("StopSign",),
    "orchestrator.tasks.naming": ("Ids",),
    "staging.draft": ("Draft",),
    "staging.errors": ("StagingFault",),
    "staging.finding": ("Finding",),
    "staging.verdict": ("Accepted", "Bound", "Escalated", "Refused", "SentBack", "Verdict"),
    "subagents.assignment": ("Assignment", "Limits"),
    "subagents.definition": ("AgentDefinition", "parse_definition"),
    "subagents.ending": ("Ending", "Failed", "Reported", "Stopped", "TimedOut"),
    "subagents.errors": ("SubagentFault",),
    "subagents.host": ("Host",),
    "subagents.messages": ("Block", "Message", "Text", "ToolResult", "ToolUse"),
    "subagents.model": ("Model", "ModelReply", "ModelRequest", "ToolSpec", "Usage"),
    "subagents.pool": ("Pool", "ProcessPool"),
}


if not TYPE_CHECKING:  # a checker knows the names from above, and any other is a mistake

    def __getattr__(name: str) -> object:
        """A public name, imported from its module and kept (PEP 562)."""
        from importlib import import_module

        for home, names in _HOMES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f".{home}", __name__), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
