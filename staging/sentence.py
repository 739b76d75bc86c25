"""Where a sentence ends, told with care: half a sentence can say the opposite of the whole.

In doubt there is no end. A dot ends nothing behind an abbreviation, a single letter or a short number ("e.g.", "J.",
"No. 5.", "am 3. November"), nothing ends inside quotation marks or brackets, and a sentence never begins with a
small letter. Three dots may leave out the word that matters, so they end nothing either.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

_STOP = re.compile(r"[.!?]+[\"'”’»“)\]]*(?=[ \t])|[。！？｡][」』”’）]*")
_BLANK = re.compile(r"\s*")
# What stands before the text of a line without being said by it: list and quotation marks, heading marks, blanks.
_LEAD = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)]|>|#{1,6})[ \t]+)*")
_BLOCK = re.compile(
    r"[ \t]*(?:[-*+](?=[ \t]|$)|#{1,6}(?=[ \t]|$)|1[.)](?=[ \t])|\||`{3}|~{3}|<!--|-->|(?:[-=_*~^][ \t]*){3,}$)"
)
_ALONE = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)|[ \t]*(?:\||`{3}|~{3}|(?:[-=_*~^][ \t]*){3,}$)")
_NUMBERED = re.compile(r"[ \t]*[0-9]{1,9}[.)](?=[ \t])")
_BARRED = re.compile(r"[ \t]*>[ \t]?")
_BARS = re.compile(r"[ \t>]*")
_CITED = re.compile(r'[ \t]*(?:[-*+][ \t]+)?>[ \t]?".*" \([^()]*:[0-9]+\)[ \t]*')
_BY_LINE = (".csv", ".tsv", ".jsonl", ".ndjson", ".log")
_OPENERS = "\"'“‘«»„([*_`¿¡「『（–—-"
_VOWELS = frozenset("aeiouyäöüàáâãåæèéêëìíîïòóôõøœùúûýаеёиоуыэюяіїє")
_SHORTENED = """
    abbr abs adj adv al alt ang anm anon apdo app appr approx apr art aufl aug av avda ave avg bd beisp ber bes betr
    bibl bijv bl blvd blz bsp bspw bv bzw ca cap capt cert cf cfr chap cit co col comp conf corp dept ders det dez
    dies dipl dir disp div doc dot doz dr dra dvs ebd ed eds eff einschl ej elec eng ent entspr env enz equiv esp esq
    est etc etw eur evt evtl ex excl exp ext fa fam feb febr fev fig figs fn fol forts fr freq frl fut fx fém gal geb
    gegr gegs gem gen ges gest gez ggf ggfs godz gov gr gral hab hist hon hosp hr hrn hrsg hz ibid id ill impr inc
    incl incluso ind inf ing inkl insb insbes inst int inv iss itd itp jan jfr jg jh jhd jr jul jun kal kap kath kcal
    kl kompl konst lat lfd lib lic lim lit loc ltd ltda mag maj mar max med mem mfg mi min minor mio misc mit mitt
    mlle mlles mm mme mmes mod mr mrd mrs mrz ms mt mtl mult mutm myth máx mín na nachm nat neg nom nos nov np nr num
    nº núm obj obs oct océan od odt okt ong op opp orig osv pag pags par para pers pet pg pgs phil phr pkg pl plur pop
    pos poss pp pr pref prep pres prev prim princ priv prob proc prod prof profa pron prov ps pseud pt pts publ pág
    págs qty rd ref refs reg rel rep resp ret rev revd rm rom rsp sa sc sched schw sci sec secs sect sen sep sept seq
    ser sig soc sog sp spec specif spez sq sr sra sras srs srta ss st sta std ste stellv sto str subj subst suff suppl
    surg sym syn tab tbsp techn tel telef teléf temp tgl theor tip tit tj tom tr trad transl tsp tél ubers ugs ul ung
    univ urspr usf usw vac var ver verb verf vers vgl viz vol vols vorm vs vulg wiss wk wks yd yds yr yrs zb zit zool
    ztr zus zw zzgl zzt éd édit österr übers übl
"""
_ABBREVIATIONS = frozenset(_SHORTENED.split())


def ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Offsets in `text`, between `start` and `stop`, behind which another sentence may begin; in order."""
    marks = _Marks()
    at = start
    for match in _STOP.finditer(text, start, stop):
        marks.pass_over(text[at : match.end()])
        at = match.end()
        following = _BLANK.match(text, at, stop)
        begin = following.end() if following else at
        if begin < stop and not marks.open and _ended(text, start, match.start(), match.end(), begin, stop):
            yield at


def content(line: str) -> tuple[int, int]:
    """Where the text of a line begins and ends: without its marks and the blanks around it."""
    return _trimmed(line, _LEAD)


def sentences(line: str) -> tuple[str, ...]:
    """The whole sentences of a line, in order, as they may be quoted: byte-equal pieces without blanks around them."""
    start, stop = content(line)
    pieces: list[str] = []
    for end in ends(line, start, stop):
        pieces.append(line[start:end])
        start = end
    pieces.append(line[start:stop])
    return tuple(piece.strip() for piece in pieces if piece.strip())


@dataclass(frozen=True)
class Paragraph:
    """Lines through which a sentence may run, as one text: `first` is the number of the first, counted from 1.

    Of each line only its text is taken (without marks and blanks around it), with a blank between two of them.
    """

    first: int
    lines: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        return " ".join(line[start:stop] for line, (start, stop) in zip(self.lines, self._contents, strict=True))

    @cached_property
    def begins(self) -> frozenset[int]:
        """Offsets of `text` at which a sentence begins."""
        after = (_BLANK.match(self.text, end) for end in self._ends)
        return frozenset({0, *(match.end() for match in after if match)})

    @cached_property
    def stops(self) -> frozenset[int]:
        """Offsets of `text` behind the last character of a sentence."""
        return frozenset({len(self.text), *self._ends})

    def offset(self, number: int, at: int) -> int:
        """Where the character `at` of line `number` stands in `text`; a line's marks count as its beginning."""
        start, stop = self._contents[number - self.first]
        return self._starts[number - self.first] + min(max(at, start), stop) - start

    def span(self, number: int) -> tuple[int, int]:
        """Where the text of a line begins and ends in `text`."""
        start, stop = self._contents[number - self.first]
        begin = self._starts[number - self.first]
        return begin, begin + stop - start

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(ends(self.text, 0, len(self.text)))

    @cached_property
    def _contents(self) -> tuple[tuple[int, int], ...]:
        return tuple(content(line) if k == 0 else _inner(line) for k, line in enumerate(self.lines))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        starts, at = [], 0
        for start, stop in self._contents:
            starts.append(at)
            at += stop - start + 1
        return tuple(starts)


class Paragraphs:
    """The paragraphs of a file, given its lines; each is made once."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self._lines = lines
        by_line = path.lower().endswith(_BY_LINE)
        self._firsts = [k for k in range(len(lines)) if by_line or k == 0 or not _flows(lines[k - 1], lines[k])]
        self._made: dict[int, Paragraph] = {}

    def at(self, number: int) -> Paragraph:
        """The paragraph of a line, counted from 1."""
        k = bisect_right(self._firsts, number - 1) - 1
        first = self._firsts[k]
        if first not in self._made:
            last = self._firsts[k + 1] if k + 1 < len(self._firsts) else len(self._lines)
            self._made[first] = Paragraph(first + 1, tuple(self._lines[first:last]))
        return self._made[first]


def _flows(line: str, after: str) -> bool:
    """Whether `after` may go on with what stands in `line`: both are prose of one block."""
    if _CITED.fullmatch(line) or _CITED.fullmatch(after):
        return False
    if _BARRED.match(line) and _BARRED.match(after):
        line, after = _BARRED.sub("", line, count=1), _BARRED.sub("", after, count=1)
    elif _BARRED.match(after):
        return False
    if not line.strip() or not after.strip() or _ALONE.match(line) or _BLOCK.match(after):
        return False
    return not (_NUMBERED.match(line) and _NUMBERED.match(after))


def _inner(line: str) -> tuple[int, int]:
    """The text of a line within a paragraph: only bars of a quotation and blanks come before it."""
    return _trimmed(line, _BARS)


def _trimmed(line: str, marks: re.Pattern[str]) -> tuple[int, int]:
    lead = marks.match(line)
    stop = len(line.rstrip())
    start = lead.end() if lead else 0
    while start < stop and line[start].isspace():
        start += 1
    return start, max(start, stop)


def _ended(text: str, start: int, dot: int, at: int, begin: int, stop: int) -> bool:
    """Whether the mark at `dot`, which with what closes behind it ends at `at`, ends a sentence."""
    if text[dot] in "。！？｡":
        return True
    while begin < stop and (text[begin] in _OPENERS or text[begin].isspace()):
        begin += 1
    if begin < stop and text[begin].islower():
        return False
    marks = text[dot:at].rstrip("\"'”’»“)]*")
    if "!" in marks or "?" in marks:
        return True
    before = text[max(start, dot - 40) : dot]
    if begin < stop and text[begin].isdecimal() and before.casefold().endswith("no"):
        return False  # "No. 5"
    return marks == "." and not _abbreviated(before)


def _abbreviated(before: str) -> bool:
    """Whether a dot behind this text shortens its last word, or counts."""
    words = before.split()
    if not words or before[-1:].isspace():
        return True
    word = words[-1].lstrip(_OPENERS).rstrip(_OPENERS)
    letters = word.casefold()
    if word.isdecimal():
        return len(word) < 3
    parts = letters.split(".")
    if len(parts) > 1 and all(len(part) <= 3 and not part.isdecimal() for part in parts):
        return True  # "e.g.", "z.B.", "U.S."
    tail = parts[-1].rpartition("-")[2].rpartition("/")[2]
    if not tail.isalpha():
        return False
    initials = len(tail) > 2 and word.endswith(tail.upper())  # "DNS" is a word of its own
    silent = len(tail) <= 5 and tail.isascii() and not initials and not _VOWELS & set(tail)
    return len(tail) == 1 or silent or tail in _ABBREVIATIONS


class _Marks:
    """Quotation marks and brackets that are open after what was passed over."""

    def __init__(self) -> None:
        self._straight = self._pointed = False
        self._curly = self._round = self._square = 0

    @property
    def open(self) -> bool:
        return bool(self._straight or self._pointed or self._curly > 0 or self._round > 0 or self._square > 0)

    def pass_over(self, text: str) -> None:
        for char in re.findall(r'["“”„«»()\[\]]', text):
            if char == '"':
                self._straight = not self._straight
            elif char in "«»":
                self._pointed = not self._pointed
            elif char == "„" or (char == "“" and self._curly == 0):
                self._curly += 1
            elif char in "“”":
                self._curly = max(0, self._curly - 1)
            elif char in "()":
                self._round = max(0, self._round + (1 if char == "(" else -1))
            else:
                self._square = max(0, self._square + (1 if char == "[" else -1))
