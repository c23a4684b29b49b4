"""The script that a new agent plays, where its driver plays scripts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from windlass import drivers
from windlass.api.wire.agents import SpawnRequest
from windlass.core.crew import Agent
from windlass.core.errors import UserError
from windlass.core.script import format as script_format
from windlass.store.rows import Repo


class ChosenScript(NamedTuple):
    """A file to play, or the words of one."""

    path: str | None = None
    text: str | None = None


def chosen(request: SpawnRequest, repo: Repo, driver: str, caller: Agent | None) -> ChosenScript:
    """The file that a person names; of a boxed agent only the words, as it reads them itself.

    What is no script is refused here, before there is an agent that could not play it.
    """
    name = request.get("script")
    if name is None:
        return ChosenScript()
    if not drivers.get(driver).abilities.scripts:
        raise UserError(
            f"{driver} asks a model, and plays no scripts",
            f"wl dev model serve {name} plays it to {driver}; or take --driver standin",
        )
    if caller is not None and caller.isolation == "box":
        text = request.get("script_text")
        if not text:
            raise UserError(f"no words of the script {name}", "call `wl new` for it")
        script_format.parse(text, f"script {name}")
        return ChosenScript(text=text)
    path = Path(request.get("cwd", repo.root)) / name
    if not path.is_file():
        raise UserError(f"no script {name}", "docs/scripts.md describes the format")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"script {name}: {error.strerror}", "give the path of a file that can be read"
        ) from None
    script_format.parse(source, f"script {name}")
    return ChosenScript(path=str(path.resolve()))
