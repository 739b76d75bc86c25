"""Promises about our source that no type checker holds: who writes files, who imports what, what a room's door does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("memory", "staging", "subagents", "orchestrator")
WRITER = "memory/files.py"
CALLS = "memory/disk.py"
KERNEL = {"subagents/sandbox/cgroup.py"}  # tell the kernel something, by files that are on no disk
"""The system calls that it makes, which nobody else imports."""
# `filelock` opens the lock file itself; that is the pen's business alone.
LOCKER = "memory/commit/lock.py"

WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC", "O_TMPFILE"}
WRITING_METHODS = {
    "write_text",
    "write_bytes",
    "touch",
    "mkdir",
    "rmdir",
    "unlink",
    "symlink_to",
    "hardlink_to",
    "chmod",
}
WRITING_OS = {
    "chmod", "chown", "ftruncate", "link", "makedirs", "mkdir", "mkfifo", "mknod", "pwrite", "remove", "removedirs",
    "rename", "renames", "replace", "rmdir", "symlink", "truncate", "unlink", "utime", "writev",
}  # fmt: skip
WRITING_MODULES = {"shutil", "tempfile", "fileinput", "sqlite3", "shelve", "dbm", "mmap"}
# Asking where a program lies writes nothing.
HARMLESS = {"shutil.which", "shutil.get_terminal_size", "shutil.disk_usage"}


def modules() -> list[Path]:
    """The rooms' modules; the doubles in onepen.testing play a breaking disk or a bad worker, so they write."""
    return sorted(path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and top-level name of every absolute import, wherever it stands, `import_module("…")` included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.split(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"import_module", "__import__"}:
            named = node.args[0] if node.args else None
            yield node.lineno, str(named.value if isinstance(named, ast.Constant) else "?").split(".")[0]


def writes(source: str) -> list[int]:
    """The lines on which a module opens, makes, moves or removes something on disk."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=flag) if flag in WRITING_FLAGS:
                found.add(node.lineno)
            case ast.Call() if _writes(node):
                found.add(node.lineno)
    return sorted(found)


def _writes(call: ast.Call) -> bool:
    function = ast.unparse(call.func)
    receiver, _, last = function.rpartition(".")
    if function in HARMLESS or receiver.rpartition(".")[2] in {"disk", "_disk"}:
        return False  # a Disk is the writer's own: `files` makes it, and hands it to those who may tell it what to do
    if last == "open" and receiver != "os":
        return _opens_for_writing(call, mode_at=1 if receiver in {"", "io", "gzip", "codecs"} else 0)
    if receiver == "os":
        return last in WRITING_OS
    if receiver.split(".")[0] in WRITING_MODULES:
        return True
    if last in {"replace", "rename"} and receiver != "dataclasses":
        # Path.replace(target) takes one argument, str.replace at least two, datetime.replace only keywords.
        return len(call.args) == 1 and not call.keywords
    return last in WRITING_METHODS and bool(receiver)


def _opens_for_writing(call: ast.Call, mode_at: int) -> bool:
    mode = next((keyword.value for keyword in call.keywords if keyword.arg == "mode"), None)
    if mode is None and len(call.args) > mode_at:
        mode = call.args[mode_at]
    if mode is None:
        return False
    if isinstance(mode, ast.Constant):
        return isinstance(mode.value, str) and bool(set(mode.value) & set("wax+"))
    # A mode that is computed can't be judged here, so it counts; what a class opens for itself (`Pen.open(workspace,
    # clock)`) has none.
    receiver = ast.unparse(call.func).rpartition(".")[0].rpartition(".")[2]
    return receiver == "Path" or not receiver[:1].isupper()


@pytest.mark.parametrize(
    "line",
    [
        "open(path, 'w')", "open(path, mode='ab')", "open(path, mode)", "io.open(path, 'x')", "path.open('r+')",
        "path.open(mode='w')", "Path.open(p, mode=m)",
        "path.write_text('')", "path.write_bytes(b'')", "path.touch()", "path.mkdir()",
        "path.unlink()", "path.replace(other)", "path.rename(other)", "os.open(p, os.O_RDONLY | os.O_CREAT)",
        "os.replace(a, b)", "os.unlink(a)", "os.makedirs(a)", "shutil.copy(a, b)", "shutil.rmtree(a)",
        "tempfile.mkdtemp()", "tempfile.NamedTemporaryFile()", "sqlite3.connect(a)", "os.symlink(a, b)",
    ],
)  # fmt: skip
def test_a_write_is_seen(line: str) -> None:
    assert writes(f"pass\n{line}\n") == [2]


@pytest.mark.parametrize(
    "line",
    [
        "open(path)", "open(path, 'rb')", "path.open()", "path.open('rb')", "text.replace('a', 'b')",
        "day.replace(hour=0)", "dataclasses.replace(card, title='')", "replace(card, title='')",
        "os.open(p, os.O_RDONLY)", "path.read_text()",
        "Pen.open(workspace, clock)", "os.write(fd, data)", "shutil.which('git')", "sys.stdout.write('')",
    ],
)  # fmt: skip
def test_reading_is_no_write(line: str) -> None:
    assert writes(f"pass\n{line}\n") == []


def test_only_one_module_writes_files() -> None:
    found = [f"{name(path)}:{line}" for path in modules() for line in writes(path.read_text(encoding="utf-8"))]
    assert {place.split(":")[0] for place in found} - KERNEL == {WRITER, CALLS}, found
    importing = [name(path) for path in modules() if ".disk import" in path.read_text(encoding="utf-8")]
    assert [one for one in importing if one.startswith("memory/")] == [WRITER]


def test_only_the_pen_locks() -> None:
    found = {name(path) for path in modules() for _, module in imports(parsed(path)) if module == "filelock"}
    assert found <= {LOCKER}


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_an_import_is_seen_wherever_it_stands() -> None:
    source = (
        "def f():\n    import anthropic.types\n    importlib.import_module('anthropic')\n    from anthropic import x\n"
    )
    assert [module for _, module in imports(ast.parse(source))] == ["anthropic"] * 3


@pytest.mark.parametrize("room", ["memory", "staging", "subagents"])
def test_no_room_below_the_orchestrator_knows_the_model_library(room: str) -> None:
    paths = [path for path in modules() if name(path).startswith(f"{room}/")]
    assert paths
    assert not [name(path) for path in paths for _, module in imports(parsed(path)) if module == "anthropic"]


@pytest.mark.parametrize("room", ROOMS)
def test_the_door_of_a_room_does_nothing(room: str) -> None:
    body = parsed(REPOSITORY / room / "__init__.py").body
    assert all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body), ast.dump(body[0])


def test_no_module_imports_a_room_by_its_bare_name() -> None:
    """`import memory` would work in the repository and nowhere else."""
    everything = [*modules(), *(REPOSITORY / "tests").rglob("*.py"), *(REPOSITORY / "benchmarks").rglob("*.py")]
    found = [f"{path}:{line}" for path in everything for line, module in imports(parsed(path)) if module in ROOMS]
    assert not found


def swallows(source: str) -> list[int]:
    """The lines of handlers that take any exception and don't raise it again."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            caught = {"BaseException"} if node.type is None else {ast.unparse(one) for one in _each(node.type)}
            again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
            if caught & {"Exception", "BaseException"} and not again:
                found.append(node.lineno)
    return found


def _each(expression: ast.expr) -> list[ast.expr]:
    return expression.elts if isinstance(expression, ast.Tuple) else [expression]


@pytest.mark.parametrize("caught", ["", " Exception", " BaseException as e", " (OSError, Exception)"])
def test_a_broad_except_is_seen_unless_it_raises_again(caught: str) -> None:
    assert swallows(f"try:\n    f()\nexcept{caught}:\n    g()\n") == [3]
    assert swallows(f"try:\n    f()\nexcept{caught}:\n    g()\n    raise\n") == []
    assert swallows("try:\n    f()\nexcept (OSError, ExceptionGroup):\n    g()\n") == []


def test_broad_excepts_stand_at_the_edges_only() -> None:
    """The worker's outer edge, the driver, the command line, and the orchestrator's two: a connection and a request."""
    found = [name(path) for path in modules() for _ in swallows(path.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(set(found)), "one in a module"
    assert set(found) <= {
        "orchestrator/commands/app.py", "orchestrator/tasks/driver.py", "orchestrator/process/calling.py",
        "orchestrator/process/server.py", "subagents/process/launch.py",
    }  # fmt: skip


def test_modules_stay_small() -> None:
    sizes = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    large = {module: lines for module, lines in sizes.items() if lines > 500}
    assert not large
    assert sorted(sizes.values())[len(sizes) // 2] <= 180


def test_no_module_is_a_drawer() -> None:
    drawers = {"utils", "util", "helpers", "common", "manager", "misc"}
    assert not [name(path) for path in modules() if path.stem in drawers]
