"""The public list of `onepen`: every name resolves and says what it is, and importing the package takes nothing."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onepen

REPOSITORY = Path(__file__).resolve().parents[2]
ALIASES = {"Block", "Confirm", "Ending", "Models", "OnEvent", "Progress", "Target", "TurnEvent", "Verdict"}


def first_sentence(text: str) -> str:
    """The first line of a docstring if it ends a sentence, else nothing."""
    line = text.split("\n")[0].strip()
    return line if re.match(r"[A-Z`].*[.:]$", line) else ""


@pytest.mark.parametrize("name", onepen.__all__)
def test_a_public_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(onepen, name)
    if name in ALIASES:
        assert not inspect.isclass(found) and not inspect.isfunction(found)
        return
    assert found.__name__ == name
    assert found.__module__.startswith("onepen.")
    assert first_sentence(inspect.getdoc(found) or ""), found.__doc__


def test_the_list_is_sorted_and_says_nothing_twice() -> None:
    assert onepen.__all__ == sorted(set(onepen.__all__))
    assert set(onepen.__all__) <= set(dir(onepen))


def test_type_checkers_are_told_the_same_names_from_the_same_modules() -> None:
    tree = ast.parse((REPOSITORY / "src" / "onepen" / "__init__.py").read_text(encoding="utf-8"))
    told = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module != "version"
        for alias in node.names
    }
    assert told == {(home, name) for home, names in onepen._HOMES.items() for name in names}
    assert sorted(name for _, name in told) == onepen.__all__


def test_what_the_service_takes_and_answers_is_public() -> None:
    """Who calls a method has to be able to make what it takes, and to name what it gives."""
    methods = [method for name, method in inspect.getmembers(onepen.Service, callable) if not name.startswith("_")]
    hints = [str(hint) for method in methods for hint in inspect.get_annotations(method).values()]
    named = {word for hint in hints for word in re.findall(r"\b\w+(?:Result|View|Wish|Request|Event)\b", hint)}
    assert "DraftsResult" in named
    assert named <= set(onepen.__all__)


def test_a_name_that_is_not_public_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Pen'"):
        getattr(onepen, "Pen")  # noqa: B009 - a checker would refuse the plain form, as it should


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import onepen; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["onepen", "onepen.version"]


@pytest.mark.timeout(240)
def test_a_checker_knows_the_types_and_refuses_other_names(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import onepen\n"
        "reveal_type(onepen.build_service)\n"
        "from onepen import Usage\n"
        "reveal_type(Usage(1).input)\n"
        "onepen.Pen\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(REPOSITORY / ".mypy_cache"), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "onepen.orchestrator.service.Service" in done.stdout, done.stdout
    assert 'Revealed type is "int"' in done.stdout or 'Revealed type is "builtins.int"' in done.stdout, done.stdout
    assert 'Module has no attribute "Pen"' in done.stdout
