"""Values of configuration: read as what their key holds, or refused in words for people."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from windlass.core import shapes
from windlass.core.errors import ConfigError

_WORDS: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


def read(value: Any, kind: Any, *, strict: bool) -> Any:
    """Returns a value as that kind; raises ConfigError that says which values it could be.

    Not strict: as it is typed on a command line, where everything is text.
    """
    try:
        return shapes.convert(value, kind, strict=strict)
    except msgspec.ValidationError:
        raise ConfigError(f"{written(value)} will not do: it takes {_words(kind)}") from None


def written(value: Any) -> str:
    """A value as TOML has it, on one line; nothing for what has no value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        said = ((key, item) for key, item in value.items() if item is not None)
        pairs = (f"{key} = {written(item)}" for key, item in said)
        return f"{{{', '.join(pairs)}}}"
    return str(value)


def is_table(kind: Any) -> bool:
    """Whether what a key holds are more keys."""
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return is_struct or get_origin(kind) is dict


def _words(kind: Any) -> str:
    """Which values are of a kind."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *limits = get_args(kind)
        return _words(inner) + "".join(map(_limit, limits))
    if origin is Literal:
        return f"one of {', '.join(map(written, get_args(kind)))}"
    if origin in (Union, UnionType):
        literals = [word for part in get_args(kind) for word in get_args(part)]
        if all(get_origin(part) is Literal for part in get_args(kind)):
            return f"one of {', '.join(map(written, literals))}"
        return " or ".join(_words(part) for part in get_args(kind) if part is not NoneType)
    if origin is list:
        (inner,) = get_args(kind)
        return "a list of texts" if inner is str else f"a list, each {_words(inner)}"
    if is_table(kind):
        return "a table"
    return _WORDS[kind]


def _limit(limit: msgspec.Meta) -> str:
    said = ((limit.ge, " of at least {}"), (limit.gt, " above {}"), (limit.le, " and at most {}"))
    return "".join(text.format(bound) for bound, text in said if bound is not None)
