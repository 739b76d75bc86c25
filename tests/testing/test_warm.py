"""Commands that a warm process forks are told apart by nothing but their speed."""

from pathlib import Path

from onepen.testing.program import Program
from onepen.testing.warm import Warm


def test_it_answers_as_the_program_does(tmp_path: Path) -> None:
    cold = Program(tmp_path)
    cold.ok("init", "ws")
    with Warm(tmp_path) as warm:
        for args in (["status"], ["log", "-"], ["search", "called"], ["show", "none"], ["no-such-command"]):
            said = warm(*args, "-C", "ws", stdin="called Ana")
            assert (said.code, said.err) == ((told := cold(*args, "-C", "ws", stdin="called Ana")).code, told.err)
            assert said.out == told.out or args[0] == "log"


def test_each_is_a_process_of_its_own(tmp_path: Path) -> None:
    with Warm(tmp_path) as warm:
        assert warm("status", env={"ONEPEN_WORKSPACE": "/nowhere"}).code == 2
        assert "/nowhere" not in warm("status").err, "what one was given, the next has not"
