"""What of the configuration commands need that ask no daemon: which pipeline is the usual one.

Everything else of it is the daemon's, which judges what a repository says.
"""

from __future__ import annotations

import os

from windlass.core import toml_text
from windlass.core.errors import ConfigError
from windlass.core.toml_text import NotToml
from windlass.project import folder

_FILE = "config.toml"


def pipeline(windlass: str, home: str) -> str:
    """The pipeline that a repository's configuration names, else the person's own; or nothing."""
    for place in (windlass, home):
        path = os.path.join(place, _FILE)
        if not os.path.isfile(path):
            continue
        try:
            table = toml_text.read(folder.read(path).decode())
        except (NotToml, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None
        named = table.get("pipeline", "")
        if not isinstance(named, str):
            raise ConfigError(f"{path}: pipeline is no text", 'write pipeline = "fast"')
        if named:
            return named
    return ""
