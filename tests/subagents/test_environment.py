from hypothesis import given
from hypothesis import strategies as st

from onepen.subagents.environment import ALLOWED, FIXED, child_environment


def test_only_what_is_listed_passes() -> None:
    parent = {"PATH": "/bin", "TZ": "UTC", "LC_TIME": "C", "ANTHROPIC_API_KEY": "k", "PYTHONPATH": "/x", "path": "/y"}
    assert child_environment(parent) == {"PATH": "/bin", "TZ": "UTC", "LC_TIME": "C", **FIXED}


@given(st.dictionaries(st.text(), st.text()))
def test_no_name_passes_that_is_not_listed(parent: dict[str, str]) -> None:
    assert all(name in ALLOWED or name in FIXED or name.startswith("LC_") for name in child_environment(parent))
