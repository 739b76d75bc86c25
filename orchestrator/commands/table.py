"""The static table of commands: name, what it does in one line, examples, and the function that does it.

The help, the parser and docs/reference/commands.md are made from this table; the order here is the order there.
Importing it is cheap: what a command needs is imported when it runs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from . import (
    batching,
    checking,
    configuring,
    examining,
    keeping,
    past,
    process,
    pruning,
    reading,
    talking,
    trusting,
    working,
    writing,
)


@dataclass(frozen=True)
class Row:
    """One command. `name` holds a blank for a command of a group ("add client").

    `examples` are what a person would type; `json` is the shape of --json, to which fields are only ever added;
    `takes_client` is False where no client's space is worked in.
    """

    name: str
    run: Callable[..., int | None]
    summary: str
    examples: tuple[str, ...]
    json: str
    takes_client: bool = True


ABOUT = "Memory for LLM agents in plain files: sub-agents draft, you approve, one pen writes. Alone: whose turn is it?"
EXAMPLES = (
    "onepen init notes && cd notes",
    'onepen delegate "What do we know about cone 6?" --input ~/glazes/',
    "onepen show ID && onepen approve ID",
)
EXIT_CODES = (
    (0, "Done; drafts that wait for review are no failure."),
    (1, "Failed, or `doctor` found something."),
    (2, "Wrong usage, or what was asked needs something that isn't there."),
    (3, "The answer of a person is needed, or it was no."),
    (4, "A budget is reached."),
    (5, "The workspace is busy: another process holds the pen."),
    (6, "The redo log is damaged; nothing was cut."),
    (130, "Interrupted."),
)

_COMMIT = "id, time, who, what, draft, agent, task, reviewer, sources, paths, undoes, undone_by, pruned"
_COMMITTED = "{commit, paths, dry_run}"
_FINDINGS = "findings: [{kind, level, line, message}]"
_TASKS = (
    "{tasks: [{task, agent, client, status, attempts, text, drafts: [{id, target, status, sha256, "
    f"{_FINDINGS}, path, commit}}], answer, usage: {{input, cache_write, cache_read, output}}, cost_usd, seconds, "
    "reason, created, left_out, target, model, inputs, batch, stages?}], dry_run}"
)
_CANCELLED = _TASKS.replace("], dry_run}", "], notices, dry_run}")
_DRAFTS = (
    f"{{drafts: [{{id, task, agent, client, target, status, provenance, {_FINDINGS}, created, sha256, path, edit, "
    "section, sources, commit, reason, stages, changed, beside: [{id, agent, edit, section, same, diff?}], diff?}]}"
)
_DECISIONS = (
    "{commit, paths, decisions: [{draft, outcome, status, note, commit, paths, sha256, stages, diff?}], dry_run}"
)
_TURN = (
    "{session, turn, answer, stop_reason, sources: [path:line], tools: [name], "
    "usage: {input, cache_write, cache_read, output}, cost_usd, layers: {B, A, I, S, C, E}, calls, commits, drafts, "
    "model, seconds, missed: [{layer, cause, tokens, usd, after?, said?}], dry_run}"
)
_CHATS = (
    "{chats: [{session, client, begun, at, model, messages, first, last, answer, calls, usage: {input, cache_write, "
    "cache_read, output}, cost_usd, unpriced_tokens, layers}], notices}"
)
_STATUS = (
    "{workspace, name, client, timezone, timezone_source, orchestrator: {pid, since, version} | null, tasks: [...], "
    "drafts_waiting, batches: [...], spend_today_usd, unpriced_tokens_today, sandbox, sandbox_gaps: [], clients, "
    "cards, recovery_pending, next, client_titles, git: {problem, since} | null, durability}"
)

_WATCHED = (
    "; with --watch a line for each change, and in it also workers: [{task, agent, client, attempt, since, doing, "
    "cost_usd}], waiting, left: [{task, agent, client, status, reason}]"
)

_ROW = (
    "name, bookings, responses, input, cache_write, cache_read, output, base_tokens, cost_usd, unpriced_tokens, "
    "lost_calls, seconds"
)
_USAGE = (
    f"{{by, since, until, client, rows: [{{{_ROW}}}], totals: {{{_ROW}}}, layers: {{B, A, I, S, C, E}}, "
    "short: {LAYER: responses}, warnings: [text]}"
)
_CONFIG = (
    "{config, exists, workspace, works: [{client, model, profile, problem}], profiles: [{name, base_url, credential, "
    "usable, lacks, model, aliases, local, prices}], clients: {CLIENT: PROFILE}, caps: [{name, value, source}], "
    "idle_seconds, policy, git: {mirror}, durability, at_once, workers: {NAME: [command]}, notify: [command]}"
)

_BATCH = (
    "{batch, state, counts: {total, done, in_review, committed, answered, refused, duplicate, failed, pending, "
    "running}, cost_usd, seconds, name, client, agent, model, created, review, via, budget_usd, concurrency, "
    "tokens, cached, left_seconds, idle, reason, failures: [{kind, count, task, line, reason}], "
    "waits: {batches, requests, expires}, paid_again, again_usd, report}"
)
_OUTLOOK = "outlook: {cost_usd: {least, most} | null, seconds: {least, most} | null, basis}"
_FORESEEN = f"; with --sample and --dry-run also {_OUTLOOK}"
_BATCH_PLAN = (
    "{batch, name, tasks, new, done, failed, twice, begun, client, agent, model, via, review, reviewers, concurrency, "
    "cost_usd: {least, most} | null, tokens: {least, most} | null, seconds: {least, most} | null, basis, budget_usd, "
    "budget_from, reads, targets, notices, dry_run}"
)
_BATCH_LINES = (
    "; --events a document on each line: {event: launch, ...batch}, {event: task, line, key, task, status, reason, "
    "kind, cost_usd, seconds}, {event: progress, ...batch}, {event: notice, text}, and last {event: result, ...batch, "
    "exit_code} or {event: result, error}"
)

_ORCHESTRATOR = "{orchestrator: {pid, since, version} | null, started, ended, ran}"

ROWS: tuple[Row, ...] = (
    Row(
        "init",
        writing.init,
        "Make a workspace, or what is missing of one; nothing is overwritten.",
        ("onepen init notes", "cd notes && onepen status"),
        "{workspace, paths, dry_run}",
        takes_client=False,
    ),
    Row(
        "add client",
        writing.add_client,
        "Add a client: a space of its own under clients/.",
        ('onepen add client "Acme Ltd" --id acme',),
        _COMMITTED,
        takes_client=False,
    ),
    Row(
        "add project",
        writing.add_project,
        "Add a project: a card with its index entry.",
        ('onepen add project "Kiln relaunch"', "onepen add project Kiln --client acme --from kiln.md"),
        _COMMITTED,
    ),
    Row(
        "add agent",
        writing.add_agent,
        "Add a kind of sub-agent, from a Claude Code sub-agent file or a beginning to write on.",
        ("onepen add agent Poet", "onepen add agent Poet --from .claude/agents/poet.md"),
        _COMMITTED,
        takes_client=False,
    ),
    Row(
        "add research",
        writing.add_research,
        "Add a finding of your own: a card under research/.",
        ('onepen add research "Cone temperatures" --from cones.md',),
        _COMMITTED,
    ),
    Row(
        "status",
        reading.status,
        "Say what runs, what waits for you, and what was spent today.",
        ("onepen status", "onepen status --json", "onepen status --watch"),
        _STATUS + _WATCHED,
    ),
    Row(
        "up",
        process.up,
        "Start the orchestrator in the background; commands that run work do so by themselves.",
        ("onepen up", "onepen up --foreground --idle 0"),
        _ORCHESTRATOR,
        takes_client=False,
    ),
    Row(
        "down",
        process.down,
        "End the orchestrator once what runs is done, or now; says what it was at work on.",
        ("onepen down", "onepen down --now"),
        _ORCHESTRATOR,
        takes_client=False,
    ),
    Row(
        "doctor",
        examining.doctor,
        "Check every file of the workspace; exit 1 when something is wrong. --fix puts right what is certain.",
        ("onepen doctor", "onepen doctor --json", "onepen doctor --fix"),
        "{ok, problems: [{path, line, kind, level, message}], "
        "fixes: [{kind, path, line, what, outcome, note, commit}], dry_run, sandbox, sandbox_gaps: []}",
        takes_client=False,
    ),
    Row(
        "ask",
        talking.ask,
        "Ask the main agent one thing; the answer goes to stdout.",
        ('onepen ask "At which temperature do we fire?"', "echo What is open | onepen ask - --client acme"),
        _TURN,
    ),
    Row(
        "chat",
        talking.chat,
        "Talk to the main agent: it reads memory, writes cards, and gives work to sub-agents.",
        ("onepen chat", "onepen chat --resume", "onepen chat --list", "onepen chat --resume 2026-11-29-k3x9abcd"),
        f"{_TURN} for each message; --list {_CHATS}",
    ),
    Row(
        "delegate",
        working.delegate,
        "Give work to sub-agents; their drafts wait for your review.",
        (
            'onepen delegate "At which temperature did cone 6 mature?" --input notes/',
            'onepen delegate "Newsletter" --agent writer --client acme --project kiln --input n.md',
            'onepen delegate "Which glazes do we use?" --answer',
            'onepen delegate "What do the logs say of pinholes?" --input logs/ --detach',
        ),
        _TASKS,
    ),
    Row(
        "resume",
        working.resume,
        "Go on with a task that was interrupted; nothing that was answered is asked again.",
        ("onepen resume t3k9",),
        _TASKS,
    ),
    Row(
        "cancel",
        working.cancel,
        "End tasks: their workers are told and ended; drafts that are there wait for you.",
        ("onepen cancel t3k9", "onepen cancel t3k9 t4m2 --json"),
        _CANCELLED,
    ),
    Row(
        "batch run",
        batching.run,
        "Give a sub-agent a task for each row of a file; the plan is shown first, and what it may cost.",
        (
            'onepen batch run cups.csv --prompt "Describe {name}: {notes}" --target "research/{name}.md" --dry-run',
            "onepen batch run 500.csv --prompt-file p.txt --client acme --review auto --budget 5 --yes",
            "onepen batch run tasks.jsonl --sample 5",
            "onepen batch run night.jsonl --via message-batches --detach --yes",
        ),
        f"{_BATCH}; with --sample also {_OUTLOOK}; --dry-run {_BATCH_PLAN}{_BATCH_LINES}",
    ),
    Row(
        "batch resume",
        batching.resume,
        "Go on with a batch that was stopped, killed or cancelled; nothing that is done is done again.",
        ("onepen batch resume cups", "onepen batch resume cups --budget 10 --concurrency 20"),
        _BATCH + _FORESEEN + _BATCH_LINES,
    ),
    Row(
        "batch status",
        batching.status,
        "Say how a batch stands: what became of its tasks, what it cost, why some failed.",
        ("onepen batch status", "onepen batch status cups --watch", "onepen batch status cups --json"),
        f"{_BATCH}; with --watch a document for each change",
    ),
    Row(
        "batch list",
        batching.list_,
        "List the batches, the latest first.",
        ("onepen batch list",),
        "{batches: [...], notices}",
    ),
    Row(
        "batch pause",
        batching.pause,
        "Have a batch start nothing more; what runs comes to its end, and `batch resume` goes on.",
        ("onepen batch pause cups",),
        _BATCH,
    ),
    Row(
        "batch cancel",
        batching.cancel,
        "End a batch and what runs of it; what was drafted waits for you.",
        ("onepen batch cancel cups",),
        _BATCH,
    ),
    Row(
        "batch retry",
        batching.retry,
        "Try failed tasks again: all of them, or those of one class of failure.",
        ("onepen batch retry cups --failed", "onepen batch retry cups --failed=overload"),
        _BATCH + _FORESEEN + _BATCH_LINES,
    ),
    Row(
        "batch report",
        batching.report,
        "Print a batch's report: what was asked, what came of it, what it cost, what failed, and what waits for you.",
        ("onepen batch report cups", "onepen batch report cups --json"),
        "{...batch, text}",
    ),
    Row(
        "drafts",
        reading.drafts,
        "List the drafts that wait for review, oldest first.",
        ("onepen drafts", "onepen drafts --all-clients --json"),
        _DRAFTS,
    ),
    Row(
        "show",
        reading.show,
        "Show a draft: where it goes, what was found, and the change line by line.",
        ("onepen show t3k9-1", "onepen show t3k9-1 --json"),
        _DRAFTS,
    ),
    Row(
        "edit",
        writing.edit,
        "Open a draft in your editor ($VISUAL or $EDITOR), then show the new change.",
        ("onepen edit t3k9-1",),
        _DRAFTS,
    ),
    Row(
        "approve",
        writing.approve,
        "Show drafts, ask, and commit them to memory: card, index, day log, all or nothing.",
        ("onepen approve t3k9-1", "onepen approve t3k9-1 t3k9-2 --yes", "onepen approve t3k9-1 --sha256 8c1f..."),
        _DECISIONS,
    ),
    Row(
        "reject",
        writing.reject,
        "Refuse drafts; they stay in the staging folder, memory stays as it is.",
        ('onepen reject t3k9-1 -m "not our voice"',),
        _DECISIONS,
    ),
    Row(
        "send-back",
        working.send_back,
        "Send drafts back to their sub-agents with what is to be changed.",
        ('onepen send-back t3k9-1 -m "quote the second source, too"',),
        _TASKS,
    ),
    Row(
        "log",
        writing.log,
        "Add a line to today's day log.",
        ('onepen log "called Ana, she wants the blue one"', "echo done | onepen log -"),
        _COMMITTED,
    ),
    Row(
        "search",
        reading.search,
        "Search cards, day logs, research and chats of a space.",
        ('onepen search "cone 6"', "onepen search glaze --since 2026-11-01 --in cards,log"),
        "{query, since, until, hits: [{path, line, date, score, text}]}",
    ),
    Row(
        "context",
        reading.context,
        "Show what is sent before your words: layers, files, their sizes, and what of them is left out.",
        (
            "onepen context",
            "onepen context --layer I",
            "onepen context --diff last",
            "onepen context --client acme --json",
        ),
        "{chat, layers: [{name, tokens, sha256, mark, life, bytes, files: [{path, tokens, bytes, sha256, left_out, "
        "units}]}], tool_tokens, total_tokens, notices}, with --diff {chat, at, changes: [{name, tokens_before, "
        "tokens, bytes_before, bytes, diff}], rewritten_tokens, base_tokens}",
    ),
    Row(
        "history",
        past.history,
        "List the commits of a space or of a file, newest first; of one commit, show what it did.",
        ("onepen history", "onepen history projects/kiln.md --since 2026-11-01", "onepen history c42"),
        f"{{commits: [{{{_COMMIT}, diff?}}]}}",
    ),
    Row(
        "undo",
        past.undo,
        "Take a commit back by a new one: what it wrote goes, what it took away comes back, the rest stays.",
        ("onepen undo", "onepen undo c42 --dry-run", "onepen undo c42-k3x9ab --yes"),
        "{commit, paths, undone, what, diff, drafts, dry_run}",
    ),
    Row(
        "why",
        past.why,
        "Say where a sentence of memory comes from: which commits brought it, by whom, from which sources.",
        ('onepen why "Fire at 1220"', 'onepen why "DNS stays at Gandi" --json'),
        f"{{text, commits: [{{{_COMMIT}, whole, where: [{{path, section}}], lines}}], "
        "stands: [{path, line, text}], by_hand, taken_out_by, pruned}",
    ),
    Row(
        "rename",
        keeping.rename,
        "Give a card another id: its index block, files and own links go along, who else names it is listed.",
        ("onepen rename kiln anagama-kiln", 'onepen rename kiln anagama-kiln --title "Anagama kiln"'),
        "{commit, paths, mentions: [path:line], drafts, dry_run}",
    ),
    Row(
        "archive",
        keeping.archive,
        "Put a card to rest: prompts leave it out, search still finds it; --undo brings it back.",
        ("onepen archive kiln", "onepen archive kiln --undo"),
        _COMMITTED,
    ),
    Row(
        "prune",
        pruning.prune,
        "Remove finished tasks, their transcripts, the text of old commits; with --client ID alone all of a client.",
        (
            "onepen prune --dry-run",
            "onepen prune --staging-older 30d --history-older 1y",
            "onepen prune --client acme",
        ),
        "{pruned: [{client, kind, before, count, files, bytes}], bytes, dry_run}; --client alone {client, title, "
        "cards, days, chats, tasks, waiting, commits, files, bytes, commit, dry_run}",
    ),
    Row(
        "usage",
        configuring.usage,
        "Sum up what model calls used and cost, by day, layer, model, agent or client, and say what to look at.",
        (
            "onepen usage",
            "onepen usage --by layer",
            "onepen usage --by model --since 2026-11-01",
            "onepen usage --client acme --json",
        ),
        _USAGE,
    ),
    Row(
        "config show",
        configuring.config_show,
        "Show which model works where, through which profile, what it may cost, and who has to agree.",
        ("onepen config show", "onepen config show --json"),
        _CONFIG,
        takes_client=False,
    ),
    Row(
        "worker check",
        checking.worker_check,
        "Try a program that is to be a sub-agent against the wire's rules; exit 1 when it breaks one.",
        ("onepen worker check -- python3 my_worker.py",),
        "{ok, command, sandbox, checks: [{name, level, seen}]}",
        takes_client=False,
    ),
    Row(
        "trust",
        trusting.trust,
        "Show what this workspace wishes beyond what it may, and allow it; until then nothing of it counts.",
        ("onepen trust", "onepen trust --list", "onepen trust --revoke"),
        "{workspace, wishes: [{name, sha256, lines, allowed}], sha256, dry_run}; --list {allowed: [...], dry_run}; "
        "--revoke {revoked: [{time, workspace, path, name, sha256, lines}], dry_run}",
        takes_client=False,
    ),
)

GROUPS = {
    "add": "Add a client, a project, an agent or a finding.",
    "batch": "Run a task for each row of a file, for hours, within a budget.",
    "config": "Show your own settings and what is in force.",
    "worker": "Programs of your own that work as sub-agents.",
}
