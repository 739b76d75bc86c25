"""The reference pages say what the code does: one is made from it, the examples of the other are read by it."""

import hashlib
import importlib.util
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from onepen.memory.ids import AgentId, id_from_title
from onepen.memory.index.index import parse_index
from onepen.memory.settings import parse_settings
from onepen.memory.text.daylog import parse_day
from onepen.memory.text.document import parse_document
from onepen.orchestrator.commands.slash import WORDS
from onepen.orchestrator.settings.choice import ALIASES
from onepen.orchestrator.settings.config import parse_config
from onepen.staging.draft import Draft, parse_draft
from onepen.staging.header import Header
from onepen.staging.quotes import quotes
from onepen.subagents.definition import parse_definition
from onepen.subagents.prompt import prefix_sha, system_blocks
from onepen.subagents.toolbox import toolset

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"


def example(title: str, language: str = "markdown") -> str:
    """The first example under a heading of the files' page."""
    page = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")
    _, _, rest = page.partition(f"\n## {title}\n")
    found = re.search(rf"^```{language}\n(.*?)^```$", rest, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["wire", "socket", "tasks", "policy", "commands", "python", "settings", "problems"])
def test_a_page_that_is_made_from_code_is_what_would_be_made_now(page: str) -> None:
    pages = generate().PAGES
    assert len(pages) == 8
    path = f"reference/{page}.md"
    assert (DOCS / path).read_text(encoding="utf-8") == pages[path](), "run: make docs"


def test_the_words_of_a_chat_are_those_that_there_are() -> None:
    page = (DOCS / "how-to" / "chat.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(/.*)` \| (.*) \|$", page, flags=re.MULTILINE)
    assert told == [(word.usage, word.does) for word in WORDS]


@dataclass(frozen=True)
class Agent:
    id: str
    prompt: str


def test_the_page_of_the_wire_is_enough_to_compute_the_prefix() -> None:
    """What a worker in another language would do, with nothing but the page."""
    page = (DOCS / "reference" / "wire.md").read_text(encoding="utf-8")
    tools = [json.loads(one) for one in re.findall(r"^```json\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)]
    snapshot = {"RULES.md": "Draft.\n", "OPS.md": "Büro ✓", "BRIEF.md": " \n", "agents.md": "# Agents\n"}
    snapshot |= {"projects.md": "# Projects\n", "research.md": ""}
    blocks = []
    for listed in re.findall(r"^\d\. files of the snapshot, joined: (.*)$", page, re.MULTILINE):
        block = ""
        for name, path in re.findall(r"(\S+) as `([^`]+)`", listed):
            text = snapshot[name]
            if text.strip():
                block += f'<file path="{path}">\n{text}' + ("" if text.endswith("\n") else "\n") + "</file>\n"
        blocks.append(block)
    blocks.append('<agent id="poet">\nRhyme.\n</agent>\n')
    prefix = {"model": "offline", "system": [block for block in blocks if block], "tools": tools}
    canonical = json.dumps(prefix, sort_keys=True, separators=(",", ":"))
    ours = system_blocks(tuple(snapshot.items()), Agent("poet", "Rhyme."))
    assert hashlib.sha256(canonical.encode()).hexdigest() == prefix_sha("offline", ours, toolset.tools())


def test_the_settings_are_accepted_and_name_every_default() -> None:
    text = example("onepen.toml", "toml")
    settings = parse_settings(text)
    assert settings.name == "Kiln House"
    assert settings.limits == type(settings.limits)()
    assert set(tomllib.loads(text)["limits"]) == set(type(settings.limits).model_fields)
    assert set(tomllib.loads(text)) == set(type(settings).model_fields)


def test_the_card_has_the_sections_that_the_page_says() -> None:
    document = parse_document(example("A card"))
    assert document.title == "Kiln relaunch"
    assert [section.id for section in document.sections] == ["kiln-relaunch", "hosting", "firing"]
    assert document.front.text("updated") == "2026-11-29"


def test_the_index_parses_without_stray_lines() -> None:
    index = parse_index(example("An index"))
    (card,) = index.cards
    assert (card.id, card.status, card.updated) == ("kiln", "active", "2026-11-29")
    assert [entry.section_id for entry in card.entries] == ["hosting", "firing", "sales/launch.md"]
    assert [entry.auto for entry in card.entries] == [False, True, False]
    assert index.stray == ()


def test_the_day_log_parses() -> None:
    assert [line.kind for line in parse_day(example("A day log"))] == ["note", "draft"]


def test_the_draft_parses_and_its_quote_is_one() -> None:
    draft = parse_draft("kiln.md", example("A draft").encode(), lambda name: None)
    assert isinstance(draft, Draft), draft
    assert (draft.edit, draft.section, draft.old_text) == ("replace", "firing", "- fire at 1200\n")
    (quote,) = quotes(draft.body)
    assert (quote.path, quote.line) == ("inputs/cones.md", 14)


def test_every_field_of_a_draft_is_on_the_page() -> None:
    page = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")
    assert all(f"| `{field}` |" in page for field in Header.model_fields)


def test_the_agent_parses() -> None:
    definition = parse_definition(AgentId("researcher"), example("An agent"))
    assert {"read_card", "read_input", "search", "write_draft"} <= definition.tools
    assert definition.max_turns == 30


@pytest.mark.parametrize("pair", re.findall(r"`(\S+)` → `(\S+)`", (DOCS / "reference" / "files.md").read_text("utf-8")))
def test_the_ids_are_made_as_the_page_says(pair: tuple[str, str]) -> None:
    assert id_from_title(pair[0]) == pair[1]


def test_the_example_of_a_persons_config_is_accepted_and_short_names_mean_what_the_page_says() -> None:
    page = (DOCS / "how-to" / "models.md").read_text(encoding="utf-8")
    found = re.search(r"^```toml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    config = parse_config(found.group(1))
    assert set(config.profiles) == {"default", "acme", "house"} and config.clients["acme"] == "acme"
    assert all(f"`{id_}`" in page for id_ in ALIASES.values())
