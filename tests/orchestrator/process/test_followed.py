"""An orchestrator that ends before it has taken a request did nothing, so its client asks the next one."""

import json
import os
import threading
from pathlib import Path

import pytest

from onepen.orchestrator.process.listening import listen
from onepen.orchestrator.process.place import key_of, socket_path
from onepen.orchestrator.process.protocol import Hello, Line, Lines, encode
from onepen.testing.program import Program, orchestrators
from onepen.version import __version__


@pytest.mark.parametrize("command", [("delegate", "Find it", "--answer"), ("ask", "Find it")])
def test_work_goes_to_the_one_that_comes_after(command: tuple[str, ...], tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    root = tmp_path / "ws"
    place = socket_path(root, {})
    listening = listen(place)
    asked: list[Line] = []

    def greet_and_end() -> None:
        connection, _ = listening.accept()
        place.unlink()
        listening.close()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(encode(Hello(__version__, key_of(root), os.getpid(), "now", 0).line()))
            lines = Lines()
            while not asked and (data := connection.recv(1 << 16)):
                asked.extend(lines.feed(data))

    thread = threading.Thread(target=greet_and_end)
    thread.start()
    ran = onepen.ok("-C", "ws", *command, "--model", "offline", "--json")
    thread.join(10)
    assert asked
    assert json.loads(ran.out)
    assert len(orchestrators(tmp_path)) == 1
