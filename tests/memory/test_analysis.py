import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.recall import analysis
from onepen.memory.recall.analysis import asked, asks_for_figure, probes_of, skim, terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fired", "firing"),
        ("Müller", "MULLER"),
        ("Straße", "strasse"),
        ("café", "cafe\u0301"),
        ("1,200", "1.200"),
        ("took", "take"),
        ("loaves", "loaf"),
        ("v4.3.1", "4.3.1"),
        ("kiln's", "kilns"),
        ("12ms", "12 ms"),
    ],
)
def test_two_spellings_share_their_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other) != ()


def test_names_in_code_are_found_whole_and_by_their_parts() -> None:
    assert {"processpool", "process", "pool"} <= set(terms("class ProcessPool:"))
    assert terms("write_memory_card") == terms("write memory card")


def test_scripts_without_spaces_are_cut_into_pairs() -> None:
    assert terms("陶芸窯") == ("陶芸", "芸窯")
    assert set(terms("釉薬")) <= set(terms("灰の釉薬を使いました"))


def test_the_words_that_frame_a_question_are_dropped() -> None:
    assert asked("What do the documents say about the glaze?") == terms("glaze")
    assert asked("How long does cooling take?") == terms("cooling")
    assert asked("Wie viel kostet der Ton?") == terms("kostet Ton")


def test_words_that_say_nothing_in_the_language_of_the_question_are_dropped() -> None:
    assert asked("Wie lange ist die Mietdauer?") == terms("Mietdauer")
    assert "die" in asked("Which die does the press use?")
    assert asked("Quand faut-il payer le loyer ?") == terms("payer loyer")


def test_a_sum_is_found_with_and_without_its_cents() -> None:
    assert terms("1.850,00") == terms("1,850.00") == terms("1.850") == ("1850",)
    assert terms("14.206,31") == ("14206", "14206.31")


def test_a_question_of_frame_words_alone_keeps_them() -> None:
    assert asked("Which files?") == terms("files")


def test_a_question_of_stop_words_has_no_terms() -> None:
    assert asked("what is it?") == ()


@pytest.mark.parametrize("question", ["How many?", "when did it break", "Wie lange?", "¿Cuánto cuesta?", "何時ですか"])
def test_questions_for_a_figure(question: str) -> None:
    assert asks_for_figure(question)
    assert not asks_for_figure("Who broke it?")


@given(
    st.text()
    | st.text(alphabet="0123.,v aß")
    | st.text(alphabet="の釉薬ab がé")
    | st.from_regex(r"[A-Za-z0-9ж]{1,4}(y|ies|ied|ational|ization|bly|ing|eed|ogi)", fullmatch=True)
)
def test_a_probe_of_each_term_stands_in_the_skimmed_text(text: str) -> None:
    """Else a quick look would pass over a passage that has the term."""
    skimmed = skim(text)
    for term in terms(text):
        assert any(probe in skimmed for probe in probes_of(term)), (term, skimmed)


@pytest.mark.parametrize(
    "words",
    ["dying lying tying vying", "skies happily generously", "took children news", "proceed", "A0Y 7xy жжy 4ational"],
)
def test_words_whose_stems_differ_from_them_are_probed(words: str) -> None:
    assert all(any(probe in skim(words) for probe in probes_of(term)) for term in terms(words))


def test_searches_in_threads_stem_alike() -> None:
    """Several tasks are searched for side by side; a term that is wrong once would stay in the cache."""
    starts = ("relat", "fir", "happi", "glaz", "condition", "organis", "ration", "continu")
    words = [a + b for a in starts for b in ("s", "ings", "ness", "ational", "ization", "fulness", "ies", "ement")]
    alone = [terms(word) for word in words]

    def stemmed(_: int) -> list[tuple[str, ...]]:
        found = []
        for word in words * 20:
            analysis._terms_of.cache_clear()
            found.append(terms(word))
        return found

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(found == alone * 20 for found in threads.map(stemmed, range(4)))
    finally:
        sys.setswitchinterval(interval)
