"""What people mean when they ask: words that ask for the same thing, words that say little, and how an answer looks.

Data in English, German, French and Spanish. A word that isn't listed costs nothing: it is looked for as it stands.
"""

import re

SAME = """
    cost price fee charge tariff pay expensive kosten kostet preis gebuhr betrag zahlt zahlen tarif prix cout coute
        montant payer cuesta precio importe
    name called named heisst heissen genannt nom appelle nombre llama llamado
    phone telephone tel telefon telefonnummer rufnummer handy telefono
    mail email
    address adresse anschrift direccion
    salary wage gehalt lohn salaire sueldo
    begin start commence beginnt commencer empieza
    end finish endet
    repair fix reparatur reparieren
    picture photo
    allow permit
    need require
    release version
    largest biggest maximum max
    smallest minimum min
    owns owner owned belong gehort besitzer eigentumer proprietaire dueno
"""
"""Each line (an indented one goes on): words that ask for the same thing."""

LIGHT = """
    use reach go come get take make need require work run write happen become charge allow
    name value number amount default version kind type size sort time date place day thing information detail
    cost price fee pay expensive
    old new next last big
    nummer zahl wert art datum kosten kostet preis hoch lang heisst findet
    numero valeur montant prix nombre faut date
    valor numero precio
"""
"""Words that say how something is asked for rather than what it is about."""

_COLOURS = (
    "black|white|red|green|blue|yellow|brown|gr[ae]y|orange|purple|violet|pink|beige|golden|silver|"
    "schwarz|wei(?:ß|ss)|rot|grün|blau|gelb|braun|grau|rosa|"
    "noire?|blanc(?:he)?|rouge|verte?|bleue?|jaune|negr[oa]|blanc[oa]|roj[oa]|verde|azul|amarill[oa]"
)
_NUMBERS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred|"
    "thousand|half|once|twice|dozen|"
    "eine?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|hundert|tausend|"
    "deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|vingt|trente|cent|mille|"
    "dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|veinte|treinta|cien|mil"
)
_DAYS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter|easter|christmas|noon|midnight|"
    "mornings?|evenings?|o'clock|today|yesterday|tomorrow|daily|weekly|monthly|yearly|annually|after|before|until|"
    "januar|februar|märz|mai|juni|juli|oktober|dezember|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|"
    "frühling|sommer|herbst|morgens|abends|täglich|uhr|"
    "janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|"
    "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|matin|soir|"
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|octubre|noviembre|diciembre|"
    "lunes|martes|miércoles|jueves|viernes|sábado|domingo|mañana|tarde|noche"
)
_SPANS = (
    "seconds?|minutes?|hours?|days?|weeks?|months?|years?|nights?|s|ms|min|h|sekunden?|minuten?|stunden?|tagen?|"
    "wochen?|monaten?|jahren?|secondes?|heures?|jours?|semaines?|mois|ans?|années?|"
    "segundos?|minutos?|horas?|días?|semanas?|meses|años?|tage|monate|jahre"
)
_UNITS = (
    "kg|g|mg|t|tonnes?|tons?|pounds?|lbs?|kilos?|grams?|gramm|kilogramm|tonnen?|tonnes?|toneladas?|litres?|liters?|liter|"
    "ml|l|m²|m³|mm|cm|m|km|metres?|meters?|meter|kilometer|miles?|feet|inch(?:es)?|[kmgt]i?b|bytes?|percent|prozent|%|"
    "knots?|degrees|°c?|quadratmeter|kwh?"
)
_FIGURE = rf"[0-9]|[一二三四五六七八九十百千万]|\b(?:{_NUMBERS})\b"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_MONEY = (
    r"[€$£¥元円]|(?<![a-z])(?:eur|euros?|usd|chf|gbp|dollars?|pounds?|pence|cents?|francs?|franken|pesos?|tokens?|"
    r"cost(?:s|ing)?|prices?|priced|fees?|charges?|tariff|pay(?:s|ing)?|paid|free|kosten|kostet|preise?|gebühr(?:en)?|"
    r"kostenlos|gratis|zahlen|zahlt|co[uû]tent?|prix|tarif|montant|gratuit(?:ement)?|cuestan?|precios?)(?![a-z])"
)


LOOKS: tuple[tuple[re.Pattern[str], re.Pattern[str], float], ...] = (
    (
        _words(r"\b(?:salary|salaries|wages?|gehalt|lohn|salaire|sueldo)\b"),
        _words(r"[€$£]|\b(?:salary|salaries|wages?|gehalt|lohn|salaire|sueldo|eur|euros?|dollars?|pounds|francs?)\b"),
        0.41,
    ),
    (
        _words(
            r"\b(?:tele)?phone number|\bphone of\b|\bwhat is .*\b(?:tele)?phone\b|telefonnummer|handynummer|rufnummer|"
            r"num[ée]ro de t[ée]l[ée](?:phone|fono)|\btel[ée]fono\b"
        ),
        _words(r"(?:[0-9][ ./()-]{0,2}){6,}"),
        0.3,
    ),
    (_words(r"\be-?mail[- ]?(?:address|adresse)|adresse e-?mail|correo electr"), _words(r"[^\s@]@[^\s@]"), 0.3),
    (_words(r"\bcolou?r\b|\bfarbe\b|\bcouleur\b|\bde qué color\b"), _words(rf"\b(?:{_COLOURS})\b"), 0.3),
    (
        _words(r"\bhow old\b|\bwie alt\b|\bquel âge\b|\bcuántos años\b"),
        _words(
            rf"(?:{_FIGURE}).{{0,20}}\b(?:years?|months?|weeks?|jahre?|monate?|ans?|mois|años?)\b|\b1[89]\d\d\b|\b20\d\d\b"
        ),
        0.4,
    ),
    (
        _words(
            r"\bhow (?:heavy|large|big|wide|deep|far|fast|full)\b|\bwie (?:schwer|groß|breit|tief|weit|schnell)\b|"
            r"\b(?:depth|height|length|width|weight) of\b"
        ),
        _words(
            rf"[0-9][ ]?(?:{_UNITS})(?!\w)|\b(?:{_NUMBERS})\b.{{0,12}}?\b(?:{_UNITS})(?!\w)|"
            r"(?:depth|height|length|width|weight|size|speed)\w*.{0,80}?[0-9]"
        ),
        0.4,
    ),
    (
        _words(r"\bhow long\b|\bwie lange?\b|\bcombien de temps\b|\bcuánto (?:tiempo|dura)\b"),
        _words(rf"(?:{_FIGURE}).{{0,12}}?\b(?:{_SPANS}|mm|cm|m|km|metres?|meters?)(?!\w)|(?:\b|_)m\b"),
        0.75,
    ),
    (
        _words(r"\bhow often\b|\bwie oft\b|\bcombien de fois\b|\bcuántas veces\b"),
        _words(
            rf"\b(?:once|twice|times|every|each|daily|weekly|monthly|yearly|einmal|zweimal|jede[rsn]?|täglich|fois|"
            rf"chaque|vez|veces|cada)\b|{_FIGURE}"
        ),
        0.75,
    ),
    (
        _words(
            r"^\W*when\b|^\W*wann\b|\bquand\b|\bcu[aá]ndo\b|\b(?:what|which) (?:day|date|time|year)\b|"
            "いつ|何時|什么时候"
        ),
        _words(rf"[0-9]|[一二三四五六七八九十百千万]|\b(?:{_DAYS})\b|\b(?:{_NUMBERS})\b"),
        0.7,
    ),
    (
        _words(
            r"\b(?:costs?|price|fee|expensive|kostet|kosten|preis|teuer|gebühr|co[uû]tent?|prix|tarif|cuestan?|"
            r"precio)\b|料金|多少钱"
        ),
        _words(_MONEY),
        0.35,
    ),
    (
        _words(r"\bhow (?:tall|high)\b|\bwie groß\b"),
        _words(rf"(?:{_FIGURE})[ ]?(?:cm|m|km|metres?|meters?|feet|foot|inch(?:es)?)(?!\w)"),
        0.4,
    ),
    (
        _words(
            r"\b(?:charge|miete|montant)\b|\bhow (?:much|many)\b|\bwie (?:viele?|hoch)\b|\bcombien\b|"
            r"\bcu[aá]nt[oa]s?\b|\b(?:age|temperature|volume|offset) of\b|几|多少"
        ),
        _words(rf"{_FIGURE}|\b(?:free|nothing|gratis|kostenlos|gratuite?ment|gratuit)\b"),
        0.7,
    ),
    (
        _words(r"\b(?:who|wer|qui|qui[eé]n(?:es)?)\b"),
        re.compile(r"(?<=[\w,;(] )[A-ZÀ-Þ][a-zß-ÿ'’.]|^\W*[A-ZÀ-Þ][^\W_]*[,;:|]|誰"),
        0.85,
    ),
)
"""How an answer looks: a question like the first has an answer like the second, or else counts by the third."""

TONGUES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    tongue: (frozenset(begins.split()), frozenset(empty.split()))
    for tongue, begins, empty in (
        (
            "de",
            "wie wer wann wo was wem wen welche welcher welches welchen warum wieso womit wofur wieviel wieviele darf "
            "kann hat ist gibt muss soll sind",
            "die der das den dem des was war waren hat hast hatte man wird gibt gab am an im in so es darf durfen kann "
            "konnen muss mussen soll sollen will wollen mochte geht wurde sei bin bist haben",
        ),
        (
            "fr",
            "qui que quoi quel quelle quels quelles quand comment pourquoi ou combien est",
            "de en a y on faut peut doit fait faire sur si",
        ),
        (
            "es",
            "que quien quienes cual cuales cuando donde como por cuanto cuanta cuantos cuantas hay",
            "en a si no o le de puede debe hace tiene sobre",
        ),
    )
}
"""By language: words that its questions begin with, and words that say nothing in them, all without accents."""

DATES = re.compile(rf"(?:{_DAYS})", re.IGNORECASE)
"""Names of days, months and the like, which can be written otherwise."""

ENGLISH = frozenset({"the", "is", "are", "of", "does", "did", "were", "there", "it", "for", "do", "to", "you"})
"""Words of an English question that hardly stand in one of those languages."""
