"""What a conversation begins with keeps to its budget, as the benchmark counts it; time is measured there alone."""

from typing import Any

from benchmarks.context import TARGET_OWN, TARGET_TOKENS, measure, table


def test_a_chat_and_a_sub_agent_begin_within_five_thousand_tokens_whatever_there_is() -> None:
    result: Any = measure((50, 1_500), 120, 1)
    assert [row["workspace"] for row in result["rows"]] == [
        "50 cards",
        "1,500 cards",
        "1,500 cards, after 120 tasks",
    ]
    for row in result["rows"]:
        assert 2_500 < row["chat_tokens"] <= TARGET_TOKENS
        assert 3_500 < row["worker_tokens"] <= TARGET_TOKENS
        assert row["whole_tokens"] > row["chat_tokens"]
    assert all(1_000 < tokens <= TARGET_OWN for tokens in result["own_tokens"].values())
    assert f"{result['rows'][-1]['whole_tokens']:,}" in table(result)
