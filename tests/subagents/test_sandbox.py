"""A worker in its sandbox: it can do its work, whole attempts of it; what can't be held is refused.

What a hostile one can't do is in tests/attacks.
"""

import os
import pkgutil
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from onepen.subagents.ending import Ending, Failed, Reported
from onepen.subagents.sandbox import bubblewrap, folders, seatbelt
from onepen.subagents.sandbox.confinement import Confinement, confinement_of
from onepen.subagents.sandbox.level import Level, NoSandbox, check_confined, probe
from onepen.subagents.sandbox.wrapping import wrapped
from onepen.testing.bench import Bench, ScriptedHost, call
from onepen.testing.worker import worker

LEVEL = probe()
NONE = Level("none", why="no Landlock in this kernel")
held = pytest.mark.skipif(LEVEL.kind != "landlock+seccomp", reason=f"no sandbox of the kernel here: {LEVEL.why}")

ATTEMPT = (
    call(("read_card", {"card": "kiln"}), ("read_input", {"name": "cones.md"}), ("search", {"query": "cone"})),
    call(
        (
            "write_draft",
            {
                "title": "Cone 6",
                "text": '# Cone 6\n\n## Heat\n1222.\n> "cone 6 was reached at 1222 degrees" (inputs/cones.md:2)\n',
                "sources": ["inputs/cones.md:2"],
            },
        ),
        (
            "propose_edit",
            {"card": "kiln#firing", "old_text": "fire at 1200", "new_text": "fire at 1222",
             "index_entry": {"section_id": "firing", "summary": "Fire at 1222."}},
        ),
    ),
    call(("edit_draft", {"name": "cone-6.md", "old_text": "1222.\n", "new_text": "1222 degrees.\n"})),
    call(("report", {"summary": "Cone 6 at 1222.", "answer": "At 1222.", "complete": True})),
)  # fmt: skip


def attempt(bench: Bench, *replies: Any, **fields: Any) -> tuple[Ending, ScriptedHost]:
    host = ScriptedHost(replies or ATTEMPT)
    return bench.run(None, host, **fields), host


@held
def test_a_whole_attempt_is_made_inside(either: Bench) -> None:
    bench = replace(either, level=LEVEL)
    ending, host = attempt(bench)
    assert isinstance(ending, Reported), (ending, bench.log)
    assert [result.is_error for result in host.results] == [False] * len(host.results)
    assert set(bench.drafted()) == {"cone-6.md", "kiln-firing.md"}
    assert "1222 degrees." in bench.drafted()["cone-6.md"]


@held
def test_what_its_prompt_shows_in_part_a_worker_reads_on_inside(either: Bench) -> None:
    bench = replace(either, level=LEVEL)
    bench.write("snapshot/whole/OPS.md", "".join(f"Rule {k}.\n" for k in range(1, 500)) + "MARKER\n")
    asked = call(("read_card", {"card": "OPS.md", "start": 480}))
    ending, host = attempt(bench, asked, ATTEMPT[-1])
    assert isinstance(ending, Reported), (ending, bench.log)
    assert "   500\tMARKER" in host.results[0].content


@held
def test_a_worker_that_fails_inside_says_where(either: Bench) -> None:
    """A traceback takes modules and sources that nobody has read before: they are looked up after the doors closed."""
    bench = replace(either, level=LEVEL)
    bench.write("snapshot/OPS.md", "")
    (bench.root / "snapshot/OPS.md").write_bytes(b"\xff")
    ending, _ = attempt(bench)
    assert isinstance(ending, Failed)
    assert "line " in bench.log and "Error" in bench.log, bench.log


@held
def test_everything_that_a_worker_may_need_can_be_imported_inside(bench: Bench) -> None:
    modules = [
        f"onepen.{room}.{name}"
        for room in ("subagents", "staging", "memory")
        for name in named(Path(folders.__file__).parents[2] / room)
        if not name.endswith("__main__")
    ]
    assert "onepen.subagents.sandbox.confine" in modules and len(modules) > 100
    script = f"""
        import importlib, json, os, sys
        from pathlib import Path
        from onepen.subagents.sandbox.confine import confine
        from onepen.subagents.sandbox.confinement import Confinement
        from onepen.subagents.sandbox.level import probe
        before = len(sys.modules)
        confine(Confinement(read=(Path({str(bench.space)!r}),)), probe())
        for name in {modules!r}:
            importlib.import_module(name)
        for name in ("traceback", "linecache", "encodings.idna", "zoneinfo", "statistics", "difflib", "email.message"):
            importlib.import_module(name)
        import zoneinfo
        zoneinfo.ZoneInfo("Europe/Berlin")
        print(len(sys.modules) - before > 100)
        try:
            open({str(bench.root / "clients/other/projects/secret.md")!r})
        except PermissionError:
            print("closed")
        raise RuntimeError("said at the end")
    """
    done = subprocess.run([sys.executable, "-P", "-c", dedent(script)], capture_output=True, text=True)
    assert done.stdout == "True\nclosed\n", done.stderr
    assert "Traceback" in done.stderr and done.stderr.endswith("RuntimeError: said at the end\n")


def named(room: Path, before: str = "") -> list[str]:
    found = []
    for module in pkgutil.iter_modules([str(room)]):
        if module.ispkg:
            found += named(room / module.name, f"{before}{module.name}.")
        else:
            found.append(f"{before}{module.name}")
    return found


@held
def test_memory_that_python_lies_around_is_not_opened(bench: Bench, tmp_path: Path) -> None:
    """A workspace below a folder that every worker has to read would be read by every worker: nothing starts."""
    inside = folders.libraries()[-1] / "workspace"
    script = f"""
        from pathlib import Path
        from onepen.subagents.sandbox.confine import MemoryExposed, confine
        from onepen.subagents.sandbox.confinement import Confinement
        from onepen.subagents.sandbox.level import probe
        try:
            confine(Confinement(private=(Path({str(inside)!r}),)), probe())
        except MemoryExposed as e:
            print(e)
    """
    done = subprocess.run([sys.executable, "-P", "-c", dedent(script)], capture_output=True, text=True, check=True)
    assert f"{inside} lies in it" in done.stdout and "move one of them" in done.stdout


@pytest.mark.parametrize("fields", [{"commands": True}, {"program": ("/bin/true",)}])
def test_what_nothing_holds_is_refused(bench: Bench, fields: dict[str, Any]) -> None:
    ending, host = attempt(replace(bench, level=NONE), **fields)
    assert isinstance(ending, Failed)
    assert "refused, since there is no sandbox here" in ending.reason and "no Landlock" in ending.reason
    assert host.heard == []


def test_a_worker_with_our_own_tools_runs_without_a_sandbox(bench: Bench) -> None:
    ending, _ = attempt(replace(bench, level=NONE))
    assert isinstance(ending, Reported), bench.log


def test_the_persons_word_lets_it_run(bench: Bench) -> None:
    ending, _ = attempt(replace(bench, level=NONE), commands=True, unsafe=True)
    assert isinstance(ending, Reported), bench.log


def test_refusing_says_what_and_why() -> None:
    check_confined(LEVEL if LEVEL.confines else Level("bubblewrap"), commands=True, program=("x",), unsafe=False)
    with pytest.raises(NoSandbox, match=r"^bot: refused, .*--unsafe-no-sandbox it runs with all your rights"):
        check_confined(NONE, commands=True, program=("bot",), unsafe=False)


@held
def test_somebody_elses_program_runs_inside(either: Bench) -> None:
    """A fresh interpreter finds its packages there, also in a clone, where onepen is looked for in `src/`."""
    bench = replace(either, level=LEVEL)
    secret = bench.root / "clients/other/projects/secret.md"
    program = worker(
        ["hello"], ["shell", f"cat $INPUTS/cones.md >c.md; cat {secret}; true"], ["report", {"summary": "s"}]
    )
    ending = bench.run(None, program=program)
    assert isinstance(ending, Reported), (ending, bench.log)
    assert bench.drafted().keys() == {"c.md"} and "another client" not in bench.log


@held
def test_what_a_command_line_names_is_opened_unless_memory_lies_in_it(bench: Bench) -> None:
    bench.write("tool/part.txt", "a part")
    inside, around = bench.root / "tool", bench.root / "clients"
    confinement = confinement_of(bench.assignment(program=("/bin/sh", "--with", str(inside), str(around))))
    assert folders.of_program(confinement) == (Path("/bin/sh").resolve(), inside)


@held
def test_a_command_runs_inside_and_reaches_its_own_folder_only(either: Bench) -> None:
    bench = replace(either, level=LEVEL)
    secret = bench.root / "clients/other/projects/secret.md"
    (bench.folder / "1/work").mkdir(parents=True)
    card = bench.space / "projects/kiln.md"
    tried = f"echo made > made.txt; cat made.txt; cat {secret}; echo x > {card}; cat /proc/1/environ"
    ending, host = attempt(
        bench, call(("run_command", {"command": tried})), call(("report", {"summary": "done"})),
        commands=True, agent=replace(bench.assignment().agent, tools=frozenset({"run_command", "report"})),
    )  # fmt: skip
    assert isinstance(ending, Reported), (ending, bench.log)
    said = host.results[0].content
    assert "made\n" in said and said.count("denied") >= 3, said
    assert "Of another client" not in said
    assert "fire at 1200" in card.read_text()


# -- other ways to be held ---------------------------------------------------------------------------------------------

CONFINED = Confinement(
    read=(Path("/w/.onepen/cache/abc"), Path("/w/projects")), write=(Path("/w/staging/t/1/drafts"),),
    work=(Path("/w/staging/t/1/work"),), commands=True,
)  # fmt: skip


def test_the_command_line_of_bubblewrap() -> None:
    line = bubblewrap.command_line(
        "/usr/bin/bwrap", CONFINED, [Path("/usr/lib")], {"/lib": "usr/lib"}, ["/usr/bin/python3", "-P"]
    )
    assert " ".join(line) == " ".join(
        [
            "/usr/bin/bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL",
            "--dev /dev --proc /proc --tmpfs /tmp --symlink usr/lib /lib --ro-bind-try /usr/lib /usr/lib",
            "--ro-bind-try /w/.onepen/cache/abc /w/.onepen/cache/abc --ro-bind-try /w/projects /w/projects",
            "--bind-try /w/staging/t/1/drafts /w/staging/t/1/drafts --bind-try /w/staging/t/1/work /w/staging/t/1/work",
            "--remount-ro / --chdir / -- /usr/bin/python3 -P",
        ]
    )


def test_bubblewrap_holds_a_worker(bench: Bench) -> None:
    program = shutil.which("bwrap", path=f"{os.environ.get('ONEPEN_TEST_BWRAP', '')}:/usr/bin:/bin:/usr/local/bin")
    if program is None:
        pytest.skip("bubblewrap is not installed here")
    level = Level("bubblewrap", 0, LEVEL.seccomp, LEVEL.machine, program, "no Landlock")
    ending, _ = attempt(replace(bench, level=level))
    assert isinstance(ending, Reported), (ending, bench.log)
    assert set(bench.drafted()) == {"cone-6.md", "kiln-firing.md"}
    secret = bench.root / "clients/other/projects/secret.md"
    card = bench.space / "projects/kiln.md"
    tried = f"cat {secret}; echo x > {card}; chmod 0 {card}; ls {bench.root}"
    confined = Confinement(read=(bench.space / "projects",), write=(bench.drafts,), commands=True)
    done = subprocess.run(wrapped(["/bin/sh", "-c", tried], confined, level), capture_output=True, text=True)
    assert "another client" not in done.stdout and "snapshot" not in done.stdout
    assert "fire at 1200" in card.read_text()
    assert card.stat().st_mode & 0o777 == 0o600


def test_the_profile_for_macos() -> None:
    text = seatbelt.profile(replace(CONFINED, commands=False), [Path('/opt/a "b"')], Path("/opt/python"))
    assert text.startswith("(version 1)\n(deny default)\n")
    assert '(subpath "/opt/a \\"b\\"")' in text
    assert text.count("process-exec") == 1 and "process-fork" not in text and "network" not in text
    assert '(allow file-write* (subpath "/w/staging/t/1/drafts") (subpath "/w/staging/t/1/work"))\n' in text
    assert "(allow process-fork)" in seatbelt.profile(CONFINED, [], Path("/opt/python"))


def test_a_command_is_left_as_it_is_where_a_process_confines_itself() -> None:
    assert wrapped(["a", "b"], CONFINED, Level("landlock+seccomp", 7)) == ("a", "b")


# -- what is told ------------------------------------------------------------------------------------------------------


def test_a_level_tells_what_it_leaves_open() -> None:
    best, older = Level("landlock+seccomp", 7, True, "x86_64"), Level("landlock+seccomp", 5, True, "x86_64")
    assert best.full and not older.full
    assert set(older.gaps) - set(best.gaps) == {"with run_command, signals to your own programs (until Linux 6.12)"}
    assert NONE.gaps == ("all that you can reach",)
    assert NONE.words == (
        "none (no Landlock in this kernel): workers run under your own user, with onepen's own tools only"
    )
    assert Level("bubblewrap", why="no Landlock").gaps[-1] == "every system call of the kernel"
