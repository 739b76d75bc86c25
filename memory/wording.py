"""What a validator found, in plain words: which key it is about, and what is expected there."""

from collections.abc import Mapping, Sequence

from .ids import shown

_EXPECTED = {
    "string_type": "must be a text",
    "string_pattern_mismatch": "has a form that is not expected here",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a block of keys and values",
    "model_type": "must be a block of keys and values",
    "dataclass_type": "must be a block of keys and values",
    "missing": "is missing",
    "extra_forbidden": "is not known here",
}


def in_words(error: Mapping[str, object]) -> str:
    """What is wrong, without the key: "must be a whole number", "must be create, append, replace or remove"."""
    kind, context = str(error.get("type", "")), error.get("ctx")
    given = context if isinstance(context, Mapping) else {}
    match kind:
        case "literal_error" | "enum":
            return f"must be {given.get('expected', 'one of the known words')}".replace("'", "")
        case "greater_than_equal":
            return f"must be at least {given.get('ge')}"
        case "less_than_equal":
            return f"must be at most {given.get('le')}"
        case "string_too_short":
            return "must not be empty"
        case "string_too_long":
            return f"has more than {given.get('max_length')} characters"
        case "too_long":
            return f"has more than {given.get('max_length')} entries"
        case "value_error" if "error" in given:
            return str(given["error"])
    return _EXPECTED.get(kind, "is not what is expected here")


def key_of(place: Sequence[object]) -> str:
    """The key in words: ("index", 0, "summary") is "index, entry 1, summary"."""
    words = [f"entry {int(str(part)) + 1}" if str(part).isdigit() else _named(str(part)) for part in place]
    return ", ".join(words)


def _named(part: str) -> str:
    return part if part.isidentifier() else shown(part)
