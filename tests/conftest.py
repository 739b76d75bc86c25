"""What all tests share: a clean environment, no network but loopback, and a workspace."""

import ipaddress
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import hypothesis
import pytest

from onepen.memory.clock import Clock
from onepen.memory.ids import ClientId
from onepen.memory.scaffold import init
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.pens import Pens
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Models, Resolver, Served
from onepen.orchestrator.settings.redact import Known
from onepen.orchestrator.settings.setup import NOTHING, Setup
from onepen.orchestrator.tasks.workshop import Workshop
from onepen.orchestrator.witness import Witness
from onepen.subagents.definition import AgentDefinition
from onepen.subagents.model import Model
from onepen.subagents.pool import Pool
from onepen.subagents.sandbox.level import Level
from onepen.testing import tally
from onepen.testing.clock import FixedClock
from onepen.testing.ids import CountedIds
from onepen.testing.pool import InProcessPool
from onepen.testing.program import end_orchestrators
from onepen.testing.scripted import ScriptedModel

MakeService = Callable[..., Service]


class NetworkUsed(RuntimeError):
    """Raised when a test reaches for an address beyond this machine."""


def pytest_configure() -> None:
    """A shell starts background work with SIGINT ignored, nohup with SIGHUP; programs under test would inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    # How long an example takes says how busy the machine is; what must be quick has a benchmark.
    hypothesis.settings.register_profile("onepen", deadline=None)
    hypothesis.settings.load_profile("onepen")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many faults were put in, and what was not tried and why."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    told = [str(value) for report in reports for name, value in report.user_properties if name == tally.PROPERTY]
    for line in tally.summary(told):
        terminalreporter.write_line(line)
    skipped = [report for report in terminalreporter.getreports("skipped") if "/faults/" in report.nodeid]
    for reason in sorted({report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)}):
        terminalreporter.write_line(f"faults not tried: {reason}")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the person's own config, workspace or keys."""
    home = tmp_path_factory.mktemp("home")
    for name in ("ONEPEN_WORKSPACE", "ONEPEN_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder of an ordinary user, whom the test runs as; root could look into what is closed to others."""
    with tempfile.TemporaryDirectory(prefix="onepen-test-") as made:
        folder = Path(made)
        if os.geteuid() != 0:
            yield folder
            return
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)


@pytest.fixture(autouse=True)
def no_orchestrator_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test started in the background ends with it."""
    folder: Path | None = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None and _may_have_one(folder):
        end_orchestrators(folder)


def _may_have_one(folder: Path) -> bool:
    try:
        return any(folder.glob("**/.onepen/orchestrator.log"))
    except OSError:  # a test made folders so deep that they have no path
        return True


@pytest.fixture(autouse=True, scope="session")
def no_orchestrator_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for those of whole modules."""
    yield
    end_orchestrators(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Connections lead to this machine only."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address and not _local(str(address[0])):
            raise NetworkUsed(f"a test connects to {address!r}")
        real(self, address)  # type: ignore[arg-type]

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", connect)
    yield
    patch.undo()


def _local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture
def clock() -> FixedClock:
    """Half past nine on a Sunday in Berlin."""
    return FixedClock("2026-11-29T09:30:00+01:00")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A new workspace, as `onepen init` makes it, in Berlin's zone."""
    folder = tmp_path / "ws"
    init(folder, id="0123456789abcdef", name="Test", today=date(2026, 11, 29))
    with (folder / "onepen.toml").open("a") as f:
        f.write('timezone = "Europe/Berlin"\n')
    return folder


@pytest.fixture
def service(make_service: MakeService) -> Service:
    """A service whose workers run in this process, with the offline model."""
    return make_service()


@pytest.fixture
def make_service(root: Path, clock: FixedClock) -> MakeService:
    """Builds services on the workspace; each call is like a new process. `script` are rules of a scripted model."""
    ids = CountedIds()

    def make(
        *,
        pool: Pool | None = None,
        script: list[dict[str, object]] | None = None,
        models: Models | None = None,
        at: Clock = clock,
        user: str = "ana",
        pens: Pens | None = None,
        setup: Setup = NOTHING,
        known: Known | None = None,
        witness: Callable[[], Witness | None] | None = None,
        level: Level | None = None,
    ) -> Service:
        workshop = Workshop(pool or InProcessPool(), Gateway(), level=level)
        resolver: Models = Resolver() if script is None else _Always(ScriptedModel(script))
        return Service(
            open_workspace(root),
            clock=at,
            ids=ids,
            workshop=lambda: workshop,
            models=lambda _: models or resolver,
            user=user,
            setup=lambda: setup,
            pens=pens,
            known=known,
            witness=witness,
        )

    return make


class _Always:
    """One model, whatever it is called."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __call__(self, name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
        return Served(self._model)
