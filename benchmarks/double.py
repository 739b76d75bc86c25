"""The Messages API double in a process of its own, with the model that `studio` plays."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .studio import rules


@dataclass(frozen=True)
class Double:
    """A running double; `record` is where it notes each request."""

    url: str
    pid: int
    record: Path

    def came(self) -> list[float]:
        """When each question for a reply came, in seconds of the monotonic clock."""
        lines = map(json.loads, self.record.read_text().splitlines())
        return [line["at"] for line in lines if line["path"].startswith("/v1/messages") and line["rule"] is not None]


@contextmanager
def double(folder: Path, seconds: float) -> Iterator[Double]:
    """A double that answers each of the three turns after so many seconds; it ends with the context."""
    told, record = folder / f"rules-{seconds}.json", folder / f"record-{seconds}.jsonl"
    told.write_text(rules(seconds))
    command = [sys.executable, "-m", "onepen.testing.messages_api", "--rules", str(told)]
    command += ["--record", str(record), "--until-eof"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=kept) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield Double(json.loads(process.stdout.readline())["url"], process.pid, record)
        finally:
            process.stdin.close()
            process.wait(10)
