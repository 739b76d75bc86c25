"""From text to the terms by which it is found: "Fired twice" and "firing" share the term `fire`.

Case and accents are folded, words of English stemmed (Porter's second stemmer), the commonest words of English, German,
French and Spanish dropped, and scripts without spaces cut into pairs of characters. The same is done to what is
searched and to what is asked; `asked` drops, besides, the words by which people frame a question.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock

from .vocabulary import ENGLISH, TONGUES

# Words that are common in one language and mean something in another ("die", "war", "son", "man") are not listed:
# their low weight in ranking does the same without losing them.
_COMMON = """
    a about all also am an and any are as at be been being both but by can could did do does doing done each either
    else ever for from had has have having he her hers him his how i if in into is it its itself just may me might more
    most must my no nor not of on one only or other our ours out over own per shall she should so some such than that
    the their theirs them then there these they this those through to too under until up upon us very was we were what
    when where whether which while who whom whose why will with within would you your yours
    s t d ll re ve m don doesn didn isn aren wasn weren couldn shouldn wouldn hasn haven hadn
    der das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ist sind wird werden wurde
    wurden hatte haben habe zu zum zur im von vom mit auf fur bei nach aus uber um als auch wie wann wer wo warum welche
    welcher welches welchen wir ich du er sie es ihr uns unser unsere mein meine dein deine sich dass daran dieser diese
    dieses wenn noch schon sehr nur bis durch ohne gegen
    le la les un une du de et ou mais ne pas est sont etait ete ce cet cette ces que qui quoi quel quelle quels quelles
    quand comment pourquoi dans par avec sans sous nous vous ils elles il elle je tu mon ma mes ton ta tes ses notre nos
    votre vos leur leurs se au aux en y l d c j n qu
    el los las una unos unas y o pero es fue ser esta este esto estos estas ese esa eso del al con por para que
    quien cual cuales cuando donde como porque se su sus nuestro nuestra mi mis tu tus lo yo ella ellos nosotros ha han
    hay muy mas
"""
_FRAME = """
    tell know find found say says said explain describe summarise summarize summary list show give
    mention mentions mentioned state stated according answer answers question questions please look lookup read anything
    something everything someone anyone much many kind sort exactly currently actually happen happens happened mean
    means document documents docs text texts file files notes note let want like get gets got need needs
    sag sagt sage gib liste zeig bitte steht dit dis dites montre donne dime lista muestra cuanto cuantos cuanta cuantas
    combien wieviel wieviele viel viele
"""
_IRREGULAR = """
took:take taken:take taking:take sold:sell paid:pay bought:buy made:make ran:run began:begin begun:begin met:meet
kept:keep sent:send spent:spend held:hold lost:lose gave:give given:give went:go gone:go came:come built:build
chose:choose chosen:choose grew:grow grown:grow broke:break broken:break brought:bring taught:teach thought:think
wrote:write written:write
told:tell left:leave led:lead drove:drive driven:drive froze:freeze frozen:freeze stood:stand understood:understand
won:win wore:wear fell:fall fallen:fall flew:fly flown:fly hidden:hide spoke:speak spoken:speak stole:steal
children:child people:person mice:mouse feet:foot leaf:leave loaves:loaf knives:knife shelves:shelf
"""
_BASE = dict(pair.split(":") for pair in _IRREGULAR.split())
_STOP_WORDS = frozenset(_COMMON.split())
_CJK = "぀-ヿ㐀-䶿一-鿿가-힯豈-﫿\U00020000-\U0003134f฀-໿ក-៿"
_CJK_FRAME = re.compile(
    "什么时候|多少钱|什么|怎么样|怎么|怎样|哪些|哪个|哪里|多少|为什么|是否|如何|请问|有没有|吗|呢|"
    "誰|いつ|どこ|どの|なぜ|何時|何を|何が|何|ですか|ますか|ましたか|무엇|언제|어디|어떻게|누가|왜"
)
_HOW = re.compile(
    r"\bhow (?:many|much|long|often|fast|quick(?:ly)?|soon|big|large|small|old|far|high|hot|cold|tall|wide|deep|heavy|"
    r"expensive|full|strong)\b|"
    r"\bwie (?:viele?|lange?|oft|schnell|bald|gro(?:ss|ß)|alt|weit|hoch|heiß|heiss|tief|schwer|teuer)\b|"
    r"\bcombien d[e'’]|\bcu[aá]nt[oa]s?\b",
    re.IGNORECASE,
)
_TAKES = re.compile(r"(?<=how long)\b(.*)\b(?:takes?|took|last(?:s|ed)?)\b", re.IGNORECASE)
_FIGURE = re.compile(
    _HOW.pattern + r"|\b(?:when|wann|quand|cu[aá]ndo|what time|which year)\b"
    r"|\b(?:costs?|price|kostet|preis|co[uû]te|prix|cuesta|precio)\b|いつ|何時|料金|几|多少",
    re.IGNORECASE,
)
_HIRAGANA_ONLY = re.compile("[ぁ-ゟー]+")
_TOKEN = re.compile(rf"v?[0-9]+(?:[.,][0-9]+)+|[{_CJK}]+|[^\W_{_CJK}]+")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[.,][0-9]{3})+")
_DECIMALS = re.compile(r"([0-9]{1,3}(?:\.[0-9]{3})+),([0-9]{1,2})|([0-9]{1,3}(?:,[0-9]{3})+)\.([0-9]{1,2})")
_INSIDE_NUMBER = re.compile(r"(?<=[0-9])[.,](?=[0-9])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_CAMEL = re.compile(r"\b[A-Za-z]+[a-z0-9][A-Z][A-Za-z0-9]*")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?:s|t|d|m|ll|re|ve)\b", re.IGNORECASE)
_UNIT = re.compile(r"([0-9]+)([^\W\d_]{1,4})")


def fold(text: str) -> str:
    """`text` without case and accents; its length may change ("ß" becomes "ss"), its line breaks don't."""
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text).casefold()
    # Recompose, so that voiced kana and Hangul syllables stay one character; what can't recompose was an accent.
    bare = "".join(c for c in spread if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def terms(text: str) -> tuple[str, ...]:
    """The terms of a text in reading order, doubles kept."""
    plain = _APOSTROPHE.sub("", text)
    if _CAMEL.search(plain):
        plain = _CAMEL.sub(_with_humps, plain)
    found: list[str] = []
    for token in _TOKEN.findall(fold(plain)):
        found += _terms_of(token)
    return tuple(found)


def asked(question: str) -> tuple[str, ...]:
    """The distinct terms that an answer to `question` should hold, without the words that only frame it.

    A question made of nothing else keeps all its terms.
    """
    words = terms(_CJK_FRAME.sub(" ", _HOW.sub(" ", _TAKES.sub(r"\1", question))))
    empty = _frame_terms() | _empty_terms(tongue_of(question))
    kept = tuple(dict.fromkeys(word for word in words if word not in empty))
    return kept or tuple(dict.fromkeys(words)) or tuple(dict.fromkeys(terms(question)))


def tongue_of(question: str) -> str | None:
    """ "de", "fr" or "es" when a question begins as questions of that language do and has no word that is English."""
    words = re.findall(r"[^\W_]+", fold(question))
    if not words or not ENGLISH.isdisjoint(words):
        return None
    return next((tongue for tongue, (begins, _) in TONGUES.items() if words[0] in begins), None)


def skim(text: str) -> str:
    """`text` folded and without the points and commas inside numbers, to be looked through with `probes_of`."""
    return _INSIDE_NUMBER.sub("", fold(text))


def probes_of(term: str) -> tuple[str, ...]:
    """Texts one of which stands in `skim` of all text with this term: "happi" is in "happy" but for its last letter.

    They say quickly where a term can't be; where one is found, `terms` has the last word. A stem differs from its word
    in more than the last letter only in "dying" and its like.
    """
    if len(term) < 3 or not "a" <= term[-1] <= "z":
        return (term.replace(".", ""),)
    dying = (f"{term[:-2]}ying",) if term.endswith("ie") else ()
    return (term[:-1], *dying, *_forms().get(term, ()))


def asks_for_figure(question: str) -> bool:
    """Whether the answer is likely to hold a number or a date: "how long", "when", "wie viele"."""
    return bool(_FIGURE.search(question))


@lru_cache(maxsize=1 << 16)
def _terms_of(token: str) -> tuple[str, ...]:
    first = token[0]
    if not token.isalnum():
        return _number(token.removeprefix("v"))
    if re.match(f"[{_CJK}]", first):
        return _pairs(token)
    if token in _STOP_WORDS:
        return ()
    if unit := _UNIT.fullmatch(token):
        return (unit[1], unit[2])
    return (_stemmer()(_BASE.get(token, token)),)


def _number(number: str) -> tuple[str, ...]:
    """A number without the marks between thousands; one with decimals is found without them too."""
    if _THOUSANDS.fullmatch(number):
        return (re.sub(r"[.,]", "", number),)
    if parts := _DECIMALS.fullmatch(number):
        whole, decimals = re.sub(r"[.,]", "", parts[1] or parts[3]), parts[2] or parts[4]
        return (whole,) if not decimals.strip("0") else (whole, f"{whole}.{decimals}")
    return (number.replace(",", "."),)


def _pairs(run: str) -> tuple[str, ...]:
    """Neighbouring characters two by two; pairs of hiragana alone are grammar and say nothing beside others."""
    if len(run) == 1:
        return (run,)
    pairs = tuple(run[k : k + 2] for k in range(len(run) - 1))
    telling = tuple(pair for pair in pairs if not _HIRAGANA_ONLY.fullmatch(pair))
    return telling or pairs


def _with_humps(match: re.Match[str]) -> str:
    """`ProcessPool` is found by itself and by its parts."""
    return f"{match[0]} {_HUMP.sub(' ', match[0])}"


@cache
def _stemmer() -> Callable[[str], str]:
    import snowballstemmer  # loads every language it knows: only who searches waits for that

    stem_word: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord
    one_at_a_time = Lock()  # it keeps the word that it works on in itself, and searches run in threads

    def stem(word: str) -> str:
        with one_at_a_time:
            return stem_word(word)

    return stem


@cache
def _frame_terms() -> frozenset[str]:
    return frozenset(term for word in _FRAME.split() for term in _terms_of(word))


@cache
def _empty_terms(tongue: str | None) -> frozenset[str]:
    return frozenset(term for word in TONGUES[tongue][1] for term in _terms_of(word)) if tongue else frozenset()


@cache
def _forms() -> dict[str, tuple[str, ...]]:
    """The irregular forms of each stem."""
    forms: dict[str, tuple[str, ...]] = {}
    for word, base in _BASE.items():
        stem = _stemmer()(base)
        forms[stem] = (*forms.get(stem, ()), word)
    return forms
