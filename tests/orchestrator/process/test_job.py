"""What a client is told of its request while it goes on."""

import anyio

from onepen.orchestrator.process.asked import asked
from onepen.orchestrator.process.job import Job
from onepen.orchestrator.process.protocol import Line

PROGRESS: Line = {"event": "progress", "task": "t1", "agent": "researcher", "text": "on it"}
LASTING: Line = {**PROGRESS, "text": "t1 failed", "lasting": True}


def test_a_worker_that_talks_takes_no_client_its_answer() -> None:
    job = Job(asked({"op": "resume", "id": "0" * 16, "args": {"task": "t1"}}))
    with job.listened_to() as ear:
        for _ in range(50_000):
            job.tell(PROGRESS)
        job.tell(LASTING)
        job.end({"result": "done"})

        async def heard() -> list[Line]:
            return [line async for line in ear]

        *progress, lasting, result = anyio.run(heard)
    assert (lasting, result) == (LASTING, {"result": "done"})
    assert 0 < len(progress) < 50_000 and all(line == PROGRESS for line in progress)


def test_a_client_that_reads_nothing_is_let_go() -> None:
    job = Job(asked({"op": "resume", "id": "0" * 16, "args": {"task": "t1"}}))
    with job.listened_to() as ear:
        for _ in range(50_000):
            job.tell(LASTING)
        assert ear.statistics().current_buffer_used < 50_000 and ear.statistics().open_send_streams == 0
