"""From how many tokens on a model caches: the person's word, then what counters have shown, then the table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.gateway.least import SHORTEST, USUAL, Taught, least_of
from onepen.subagents.model import Usage


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-5-5", USUAL),
        ("claude-opus-4-7", 2_048),
        ("claude-haiku-4-5-20251001", 4_096),
        ("eu.anthropic.claude-opus-4-6", 4_096),
        ("claude-sonnet-5-5", USUAL),
        ("qwen2.5-1.5b", USUAL),
    ],
)
def test_the_table_goes_by_what_a_name_holds(model: str, tokens: int) -> None:
    assert least_of(model) == tokens


def test_the_persons_word_comes_first() -> None:
    taught = Taught()
    taught.saw("here", Usage(cache_write=600))
    assert taught.least("here", "qwen", {"qwen": 3_000}) == 3_000 == least_of("qwen", {"qwen": 3_000})


def test_a_shorter_prompt_that_was_cached_lowers_it_and_a_longer_one_that_was_not_raises_it() -> None:
    taught = Taught()
    taught.saw("here", Usage(input=1_500))
    assert taught.least("here", "m") == USUAL, "perhaps this server caches nothing at all"
    taught.saw("here", Usage(input=10, cache_write=5_000))
    assert taught.least("here", "m") == 1_501
    taught.saw("here", Usage(cache_read=1_700))
    taught.saw("there", Usage(cache_write=600))
    assert (taught.least("here", "m"), taught.least("there", "m")) == (1_501, 600)


usages = st.builds(Usage, st.integers(0, 9_000), st.integers(0, 9_000), st.integers(0, 9_000))


@given(st.lists(usages))
def test_what_was_cached_is_never_called_too_short(seen: list[Usage]) -> None:
    taught = Taught()
    for usage in seen:
        taught.saw("here", usage)
    cached = [usage.cache_read + usage.cache_write for usage in seen if usage.cache_read + usage.cache_write]
    assert taught.least("here", "m") <= min(cached, default=USUAL)
    assert SHORTEST < USUAL
