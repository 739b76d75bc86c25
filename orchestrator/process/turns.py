"""What happens during a turn of a chat, as lines on the socket and back.

{"event": "chat", "session": …}        the chat that answers
{"event": "words", "text": …}          more words of the answer
{"event": "broke_off", "reason": …}    what was heard of this reply doesn't count
{"event": "tool", "tool": …, "text": …}
{"event": "notice", "text": …}
"""

from ..requests import BrokeOff, ChatBegun, Notice, ProgressLine, ToolCalled, TurnEvent, Words
from .protocol import Line


def turn_line(event: ChatBegun | Words | BrokeOff | ToolCalled | Notice) -> Line:
    """The line of an event; a sub-agent's progress has a line of its own everywhere."""
    match event:
        case ChatBegun(session=session):
            return {"event": "chat", "session": session}
        case Words(text=text):
            return {"event": "words", "text": text}
        case BrokeOff(reason=reason):
            return {"event": "broke_off", "reason": reason}
        case ToolCalled(tool=tool, text=text):
            return {"event": "tool", "tool": tool, "text": text}
        case Notice(text=text):
            return {"event": "notice", "text": text}


def turn_event(line: Line) -> TurnEvent | None:
    """The event on a line; None for a line of another kind."""
    match line:
        case {"event": "chat", "session": str(session)}:
            return ChatBegun(session)
        case {"event": "words", "text": str(text)}:
            return Words(text)
        case {"event": "broke_off", "reason": str(reason)}:
            return BrokeOff(reason)
        case {"event": "tool", "tool": str(tool), "text": str(text)}:
            return ToolCalled(tool, text)
        case {"event": "notice", "text": str(text)}:
            return Notice(text)
        case {"event": "progress", "task": str(task), "agent": str(agent), "text": str(text)}:
            return ProgressLine(task, agent, text)
    return None
