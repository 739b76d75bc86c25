"""Every kind of problem that `doctor` tells: how bad it is, what it means, and what to do about it.

The words are stable, for programs that read `--json`. docs/reference/problems.md is made from this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ..memory.problem import Level


@dataclass(frozen=True)
class Kind:
    """One kind of problem; `levels` are those at which it comes, `fixed` when `doctor --fix` puts it right."""

    word: str
    levels: tuple[Level, ...]
    meaning: str
    remedy: str
    fixed: bool = False


_BACKUP = "put it back from a backup or from git"
_TAKE_OVER = "take over what you want, then remove it"

KINDS: Mapping[str, tuple[Kind, ...]] = {
    "Cards and their index": (
        Kind("card_unindexed", ("error",), "a card has no block in its index", "the next write adds it", True),
        Kind("entry_missing", ("error",), "a section has no entry", "the next write adds it", True),
        Kind("section_renamed", ("warning",), "a heading was renamed, its entry has the old name",
             "the next write follows it", True),
        Kind("card_missing", ("error", "info"), "the index has a block for a card that is gone; information for one "
             "that is archived", "put the card back, or remove the block"),
        Kind("entry_orphan", ("error",), "an entry is for a section that the card doesn't have",
             "remove the line, or put the section back"),
        Kind("card_lost", ("warning",), "a commit wrote this card; it is gone, and its block, too",
             f"{_BACKUP}; if it was to go, add its block with `status: archived`"),
        Kind("index_stray", ("warning",), "text that is no entry stands between the entries",
             "move it to a card, or above the first block"),
        Kind("index_entry", ("warning",), "an entry is not as onepen writes them: too long, or with markup or an "
             "address in its summary", "shorten it to one plain line"),
        Kind("file_missing", ("error",), "an entry leads to a file of a project that is gone",
             "put the file back, or remove the line"),
        Kind("file_unindexed", ("info",), "a file of a project has no entry, so only a search finds it",
             "add a line by hand, if it matters"),
        Kind("files_without_card", ("warning",), "a folder of files belongs to no project",
             "put the project's card back, or move the folder away"),
        Kind("files_too_many", ("warning",), "a project has more files than are looked through",
             "move what is no memory elsewhere"),
        Kind("id_twice", ("error",), "a project and a finding of one space have the same id", "rename one"),
    ),
    "Sizes": (
        Kind("index_over_budget", ("warning",), "an index is larger than its place in prompts, which name or count the "
             "rest", "archive cards at rest, or raise `limits.index_tokens` and `limits.start_tokens`"),
        Kind("note_over_budget", ("warning",), "a note is longer than its place in prompts, which say where to read on",
             "move parts of it into cards, or raise `limits.note_tokens` or `limits.memory_tokens`"),
        Kind("card_over_budget", ("info",), "a card is large, and who reads it gets all of it", "split it in two"),
        Kind("layers_over_budget", ("warning",), "all that a conversation begins with is more than it should be",
             "see `onepen context`; shorten notes, or raise `limits.start_tokens`"),
    ),
    "Texts": (
        Kind("front_matter", ("error", "warning"), "front matter can't be read, or never ends; a warning for an agent "
             "of another tool, or where it may be text between two rules", "put the named line right"),
        Kind("conflict_markers", ("error",), "a merge left its markers", "keep the right lines, remove the markers"),
        Kind("conflict_marker", ("warning",), "what looks like half of a merge conflict",
             "keep the right lines, remove the marker"),
        Kind("fence_open", ("warning",), "a code fence or comment that nothing closes hides the headings behind it",
             "close it"),
        Kind("lone_carriage_return", ("warning",), "a line ends with a carriage return alone", "save it with newlines"),
        Kind("byte_order_mark", ("info",), "a text begins with a byte order mark; it is kept and passed over",
             "nothing"),
        Kind("secret", ("warning",), "what looks like a key or a password stands in a text",
             "keep its name, not its value, and change it where it opens"),
        Kind("not_text", ("error",), "a file that should be text is none", "save it as UTF-8"),
        Kind("unreadable", ("error",), "a file can't be read", "change its mode, or look at the disk"),
    ),
    "Files and folders": (
        Kind("name_twins", ("error",), "two names differ only in case or form: one file on many machines",
             "rename one"),
        Kind("name_no_id", ("warning",), "a file's name is no id, so the file is not read", "rename it"),
        Kind("conflict_copy", ("warning",), "a copy that a sync service left; it is never read", _TAKE_OVER),
        Kind("kept_beside", ("warning",), "onepen kept a version beside the file, since two programs wrote at once",
             _TAKE_OVER),
        Kind("leftover", ("warning",), "a temporary file of a write that was cut short",
             "remove it; `--fix` moves those of onepen's own to `.onepen/aside/`", True),
        Kind("link_leads_out", ("error",), "a link leads out of the space, so it is neither read nor written",
             "put a file in its place"),
        Kind("client_removed", ("warning",), "files of a client that was removed are there again, as after a merge; "
             "nobody reads them", "the next command that writes removes them"),
        Kind("client_is_link", ("error",), "a client's folder is a link, so it is not read", "put a folder there"),
        Kind("not_a_file", ("error",), "a folder, pipe or device stands where a file should be", "move it away"),
        Kind("folder_missing", ("error",), "a folder of the workspace is gone", f"{_BACKUP}, or `onepen init .`"),
        Kind("folder_unusable", ("error",), "what stands in a folder's place is none, or may not be read",
             "move it away, or change its mode"),
        Kind("git_lines_missing", ("warning",), "the workspace is under git, and lines of onepen's are not in "
             "`.gitattributes` or `.gitignore`", "add them", True),
    ),
    "Day logs": (
        Kind("sealed_line_changed", ("error",), "a line of a day that was sealed is gone or changed",
             "put the log back from git or a backup"),
        Kind("late_line", ("info",), "a line came after the day was sealed, by a merge or by hand", "nothing"),
        Kind("day_unsealed", ("info",), "past days have no seal, so a change would not be seen",
             "the next commits seal them", True),
        Kind("day_lost", ("error",), "a commit added to this log; it is gone", _BACKUP),
        Kind("seal_unreadable", ("warning",), "a line of the seals can't be read", "put it back, or remove it"),
    ),
    "History": (
        Kind("commit_unreadable", ("error", "warning"), "a line of the history can't be read; a warning where its "
             "commit stands whole in another line", "put it back from a backup or from git; `--fix` moves a damaged "
             "double aside", True),
        Kind("commit_id_twice", ("error",), "two different commits have one id", "nothing is lost: both stand"),
        Kind("key_twice", ("error", "info"), "two commits carry out the same task; information where both made the "
             "same change, on two clones", "look at both, and undo one"),
        Kind("history_lost", ("error", "warning"), "commits that this machine made are in no log; a warning where they "
             "may be on another branch", "put `logs/` back from a backup or from git"),
        Kind("log_empty", ("error", "warning"), "a log that is only ever added to is empty",
             f"{_BACKUP}, or remove it"),
        Kind("tombstone_unreadable", ("error",), "a line of `logs/tombstones.jsonl` can't be read, so a client that "
             "was removed may be read again", "put it back from git, or remove it"),
        Kind("usage_unreadable", ("error",), "a booking can't be read, so its cost is in no sum",
             "put it back, or remove it; `--fix` moves one that was cut short aside", True),
    ),
    "Tasks and chats": (
        Kind("task_unfinished", ("info",), "a task that was never begun", "its folder can be deleted"),
        Kind("task_unreadable", ("error", "warning"), "a task's sheet can't be read; an error where there are drafts",
             _BACKUP),
        Kind("staging_missing", ("warning",), "the folder of all tasks is gone", _BACKUP),
        Kind("draft_missing", ("warning",), "a draft waits for you, but its file is gone", "`onepen reject ID -m …`"),
        Kind("journal_damaged", ("error",), "lines of a task's journal are missing", "`onepen resume TASK`"),
        Kind("journal_line_unreadable", ("error", "warning", "info"), "a line of a task's journal can't be read; a "
             "warning where a crash cut it short, information where the journal was rebuilt since",
             "`onepen resume TASK`; `--fix` moves a line that was cut short aside", True),
        Kind("transcript_unreadable", ("error",), "what an attempt had read is not known any more", _BACKUP),
        Kind("chat_unreadable", ("warning",), "a chat can't be read", "change its mode, or look at the disk"),
        Kind("chat_damaged", ("warning",), "a chat's first line, its prompt, is damaged: it can't go on", _BACKUP),
    ),
    "Batches": (
        Kind("batch_unfinished", ("info",), "a batch that was never begun", "its folder can be deleted"),
        Kind("batch_unreadable", ("error",), "what a batch was asked to do, or its list of tasks, can't be read or was "
             "changed, so it can't go on", _BACKUP),
        Kind("batch_journal_unreadable", ("error", "warning"), "a line of a batch's journal can't be read; a warning "
             "where a crash cut it short", "put it back, or remove it; `--fix` moves a line that was cut short aside",
             True),
    ),
    "Agents": (
        Kind("agent_unlisted", ("error",), "an agent has no block in the registry, so nobody knows of it",
             "add it", True),
        Kind("agent_missing", ("error",), "the registry has a block for an agent that is gone",
             "put it back, or remove the block"),
        Kind("rules_missing", ("warning",), "sub-agents have no rules", "`onepen init .`"),
    ),
    "The pen": (
        Kind("commit_pending", ("info",), "commits stand whose files lag behind", "the next command that writes "
             "finishes them", True),
        Kind("commit_unsettled", ("error",), "a commit that stands can't be finished: something is in the way",
             "put right what the message names"),
        Kind("redo_foreign", ("error",), "the redo log was made in another folder, so it is not believed",
             "see what the message says"),
        Kind("room_unfit", ("error",), "something else stands where a file of `.onepen/` should be", "move it away"),
    ),
    "The sandbox": (
        Kind("sandbox_none", ("warning",), "nothing holds workers on this system, so commands and other programs are "
             "refused", "install bubblewrap (`bwrap`), or use a kernel with Landlock"),
        Kind("sandbox_weaker", ("info",), "what holds workers here leaves more open than it could",
             "a newer kernel closes it; see the message"),
        Kind("sandbox_exposes", ("error",), "memory lies in a folder that every worker has to read",
             "move the workspace, or the Python environment"),
    ),
}  # fmt: skip
