"""How fast commands start and how much memory they take: `python -m benchmarks.startup [--json] [--rounds N]`.

Measured against an empty interpreter and one that imports typer, turn by turn in the same run. Says, too, whether
a command imported a library that it should do without. It asserts nothing; tests/repository/test_startup.py does.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from .measure import Figure, Run, in_turns, run

REPOSITORY = Path(__file__).resolve().parent.parent
HEAVY = ("anthropic", "rich", "structlog", "pydantic_settings")
QUESTION = "how does a draft become memory"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "onepen --help": ("--help",),
    "onepen status": ("status",),
    "onepen search": ("search", "which glaze for the tea bowls"),
}
DELEGATE = ("delegate", QUESTION, "--agent", "researcher", "--input", str(REPOSITORY / "docs"))


def interpreter(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)


def onepen(*arguments: str) -> tuple[str, ...]:
    """The installed command beside this interpreter, as a person runs it."""
    return (str(Path(sys.executable).parent / "onepen"), *arguments)


def surroundings(home: Path) -> dict[str, str]:
    """An environment without the person's own settings, so that a figure means the same everywhere."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "LC_ALL", "TMPDIR"}}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "NO_COLOR": "1"}


def fresh_copy(source: Path, place: Path) -> Path:
    """A copy of the example workspace that a run may write into."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    return place


def delegate(place: Path, env: Mapping[str, str]) -> Run:
    """One cold offline delegate, from the command to its end: an orchestrator that starts, worker, draft, checks."""
    workspace = fresh_copy(REPOSITORY / "examples" / "workspace", place)
    ran = run(onepen(*DELEGATE), cwd=workspace, env=env)
    run(onepen("down", "--now"), cwd=workspace, env=env)
    return ran


def heavy_imports(arguments: tuple[str, ...], *, cwd: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """The heavy libraries that a command imported."""
    return imported(run(interpreter("-X", "importtime", "-m", "onepen", *arguments), cwd=cwd, env=env).stderr)


def imported(log: str) -> tuple[str, ...]:
    """The heavy libraries in the interpreter's own import log (`-X importtime`)."""
    names = {line.rsplit("|", 1)[-1].strip() for line in log.splitlines() if line.startswith("import time:")}
    return tuple(name for name in HEAVY if name in names)


def measure(rounds: int) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints."""
    with tempfile.TemporaryDirectory(prefix="onepen-startup-") as scratch:
        home = Path(scratch, "home")
        home.mkdir()
        env = surroundings(home)
        workspace = fresh_copy(REPOSITORY / "examples" / "workspace", Path(scratch, "workspace"))
        programs: dict[str, Callable[[], Run]] = {
            "python -c pass": partial(run, interpreter("-c", "pass"), cwd=workspace, env=env),
            "python -c 'import typer'": partial(run, interpreter("-c", "import typer"), cwd=workspace, env=env),
        }
        for name, arguments in COMMANDS.items():
            programs[name] = partial(run, onepen(*arguments), cwd=workspace, env=env)
        programs["onepen delegate (offline, cold)"] = partial(delegate, Path(scratch, "delegate"), env)
        figures = in_turns(programs, rounds=rounds)
        imports = {name: heavy_imports(arguments, cwd=workspace, env=env) for name, arguments in COMMANDS.items()}
    return document(figures, imports)


def machine() -> dict[str, object]:
    """What it was measured on."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "onepen": importlib.metadata.version("onepen"),
    }


def document(figures: tuple[Figure, ...], imports: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    """Figures with their ratios to the two references, and what the machine was."""
    bare, typer = figures[0], figures[1]
    rows = [
        {
            **one.as_json(),
            "times_bare": round(one.seconds / bare.seconds, 2),
            "times_typer": round(one.seconds / typer.seconds, 2),
        }
        for one in figures
    ]
    return {
        "machine": machine(),
        "figures": rows,
        "heavy_imports": {name: list(found) for name, found in imports.items()},
    }


def table(result: Mapping[str, object]) -> str:
    """The same for people."""
    where, rows, imports = result["machine"], result["figures"], result["heavy_imports"]
    assert isinstance(where, dict) and isinstance(rows, list) and isinstance(imports, dict)
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**where),
        "",
        f"{'':34}{'median':>10}{'least':>10}{'most':>10}{'peak':>10}{'× bare':>9}{'× typer':>9}",
    ]
    lines += [
        "{name:34}{ms:>7} ms{ms_least:>7} ms{ms_most:>7} ms{peak_mb:>7} MB{times_bare:>9}{times_typer:>9}".format(**row)
        for row in rows
    ]
    lines.append("")
    lines += [f"{name} imported {', '.join(found) or 'none'} of {', '.join(HEAVY)}" for name, found in imports.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description="Start-up time and memory.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=11, help="runs of each program (default: 11)")
    arguments = parser.parse_args()
    result = measure(max(1, arguments.rounds))
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
