"""The repository's configuration with keys that an import adds, and everything else as it was.

Whatever way the file is written in: what comes out is read again, and says what the file said and
the new keys, nothing else. Where no way of writing does that, it is refused, with the lines that a
person would add.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from windlass.core import config, config_roles, toml_text
from windlass.core.errors import ConfigError

_MOST_BYTES = 512 << 10
_MOST_LINES = 10_000
_BARE_NEWLINE = re.compile(r"(?<!\r)\n")


class Merged(NamedTuple):
    """A configuration with what an import adds to it."""

    text: str
    added: dict[str, Any]
    kept: dict[str, Any]
    """Keys that say something else already."""


def merged(path: str, held: bytes, settings: Mapping[str, Any]) -> Merged:
    """What a file of configuration holds, with the keys that it does not have yet."""
    was, has = _read(path, held)
    added = {key: value for key, value in settings.items() if key not in has}
    kept = {key: has[key] for key, value in settings.items() if has.get(key, value) != value}
    if not added:
        return Merged(was, added, kept)
    for way in (_styled, _by_hand):
        now = way(was, added)
        if now is not None and _holds(now, was) and _says(now, {**has, **added}):
            return Merged(_with_ends_of(was, now), added, kept)
    raise ConfigError(
        f"{path} is written in a way that {_blocked(has, added)} cannot be added to; it stays as "
        "it is, and nothing was imported",
        f"add this by hand, and import again:\n{''.join(_tables(added))}".rstrip(),
    )


def _read(path: str, held: bytes) -> tuple[str, dict[str, Any]]:
    if len(held) > _MOST_BYTES or held.count(b"\n") > _MOST_LINES:
        raise ConfigError(
            f"{path} has more than {_MOST_LINES} lines or {_MOST_BYTES >> 10} KiB",
            "no configuration is that long: move it away, and import again",
        )
    try:
        text = held.decode()
        return text, config.flatten(toml_text.read(text))
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return config.flatten(toml_text.read(text)) == wanted
    except ValueError:
        return False


def _holds(now: str, was: str) -> bool:
    """Whether every old line is there still, in its order: comments and empty tables as well."""
    lines = iter(now.splitlines())
    return all(line in lines for line in was.splitlines())


def _blocked(has: Mapping[str, Any], added: Mapping[str, Any]) -> str:
    """The first new key that something else in the file is in the way of, or the first."""
    for key in added:
        parts = key.split(".")
        above = (".".join(parts[:count]) for count in range(1, len(parts)))
        if any(name in has for name in above) or any(one.startswith(f"{key}.") for one in has):
            return key
    return next(iter(added))


def _styled(text: str, added: Mapping[str, Any]) -> str | None:
    """The keys where a person would look for them: in the tables that are there."""
    import tomlkit  # noqa: PLC0415 - nothing else here needs it, and it takes a while
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        document = tomlkit.parse(text)
        for key, value in added.items():
            table: Any = document
            *parents, last = key.split(".")
            for part in parents:
                fresh = tomlkit.table(is_super_table=part in config_roles.TABLES)
                table = table.setdefault(part, fresh)
            table[last] = value
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, AttributeError):
        return None  # a value is where a table would be, or it has a defect: read once more anyway


def _by_hand(text: str, added: Mapping[str, Any]) -> str | None:
    """Each table's keys in it, below everything else, or with their whole names above it."""
    has = config.flatten(toml_text.read(text))
    for table, group in groupby(added.items(), key=lambda item: item[0].rpartition(".")[0]):
        keys = dict(group)
        has |= keys
        below = f"{_ended(text)}\n{''.join(_tables(keys))}"
        above = f"{''.join(_lines(keys))}{text}"
        fits = [now for now in (_inside(text, table, keys), below, above) if _says(now, has)]
        if not fits:
            return None
        text = fits[0]
    return text


def _inside(text: str, table: str, keys: Mapping[str, Any]) -> str:
    """The keys right below the heading of their table, if it has one."""
    heading = re.search(rf"^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\].*\n", text, re.MULTILINE)
    at = heading.end() if heading else 0
    lines = "".join(_lines({key.rpartition(".")[2]: value for key, value in keys.items()}))
    return f"{text[:at]}{lines}{text[at:]}"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _tables(added: Mapping[str, Any]) -> Iterator[str]:
    """The keys as lines, below the headings of their tables."""
    ordered = sorted(added.items(), key=lambda item: "." in item[0])
    for table, group in groupby(ordered, key=lambda item: item[0].rpartition(".")[0]):
        if table:
            yield f"[{table}]\n"
        yield from _lines({key.rpartition(".")[2]: value for key, value in group})


def _lines(keys: Mapping[str, Any]) -> Iterator[str]:
    import tomlkit  # noqa: PLC0415 - nothing else here needs it, and it takes a while

    for key, value in keys.items():
        yield f"{key} = {tomlkit.item(value).as_string()}\n"


def _with_ends_of(was: str, now: str) -> str:
    """New lines end as all the old ones do."""
    if "\r\n" in was and not _BARE_NEWLINE.search(was):
        return _BARE_NEWLINE.sub("\r\n", now)
    return now
