"""How a runner is asked for JUnit files without a change to the command line.

Pure. Some runners take options from the environment, some write such files anyway; all others are
read from their output alone. Only plain lines are understood: of a script nobody knows here how
many runners it starts, and the second would write over the first one's file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

import msgspec

_NOT_PLAIN = frozenset(";|&<>$`()\n*?{}!#~")
_PLAIN_FOLDER = re.compile(r"[\w./-]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
_PYTHON = re.compile(r"python[0-9.]*|pypy[0-9.]*")
_LAUNCHERS = frozenset(
    "coverage env hatch ionice nice pdm pipenv poetry rye time timeout uv xvfb-run".split()
)
"""Programs that start what their line names further on, in the same environment."""
_MAVEN = ("**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml")
_GRADLE = ("**/build/test-results/**/TEST-*.xml",)


class JUnitOption(msgspec.Struct, frozen=True, kw_only=True):
    """What to set for a run, and where its JUnit files will be, if the runner does as asked."""

    environment: dict[str, str] = {}
    files: tuple[str, ...]
    """Paths under the folder that was given, or patterns relative to the work tree."""


def junit_option(
    command: str, *, folder: str, environment: Mapping[str, str]
) -> JUnitOption | None:
    """How to get JUnit files from a plain command line; None where the runner cannot be asked.

    `folder` is for this run alone, as the run sees it; `environment` is what the run would have.
    Patterns in the work tree may also find files of earlier runs: remove them first.
    """
    words = _plain_words(command)
    if not words:
        return None
    runner = words[0].rpartition("/")[2]
    if runner in ("mvn", "mvnw"):
        return JUnitOption(files=_MAVEN)
    if runner in ("gradle", "gradlew"):
        return JUnitOption(files=_GRADLE)
    if not _PLAIN_FOLDER.fullmatch(folder):
        return None
    file = f"{folder}/junit.xml"
    if runner == "gotestsum":
        return _set(words, file, "GOTESTSUM_JUNITFILE", file)
    if runner == "node" and "--test" in words:
        # Asked for one reporter, node leaves out the one that people read.
        options = (
            "--test-reporter=spec --test-reporter-destination=stdout "
            f"--test-reporter=junit --test-reporter-destination={file}"
        )
        return _set(words, file, "NODE_OPTIONS", _joined(environment, "NODE_OPTIONS", options))
    if _runs_pytest(words, runner):
        option = _joined(environment, "PYTEST_ADDOPTS", f"--junitxml={file}")
        return _set(words, file, "PYTEST_ADDOPTS", option)
    return None


def _set(words: Sequence[str], file: str, variable: str, value: str) -> JUnitOption | None:
    """Nothing where the line says itself what the variable would say."""
    if any("junit" in word or "--test-reporter" in word for word in words):
        return None
    return JUnitOption(environment={variable: value}, files=(file,))


def _joined(environment: Mapping[str, str], variable: str, option: str) -> str:
    return f"{environment.get(variable, '')} {option}".strip()


def _runs_pytest(words: Sequence[str], runner: str) -> bool:
    if runner in ("pytest", "py.test"):
        return True
    if not (_PYTHON.fullmatch(runner) or runner in _LAUNCHERS):
        return False
    names = [word.rpartition("/")[2] for word in words]
    if "-m" in names:
        return names[names.index("-m") + 1 :][:1] == ["pytest"]
    return not _PYTHON.fullmatch(runner) and names.count("pytest") + names.count("py.test") == 1


def _plain_words(command: str) -> list[str]:
    """The words of one program's line, `cd FOLDER &&` before it left out; empty if it is more."""
    while command.startswith("cd ") and "&&" in command:
        folder, _, command = command.partition("&&")
        if _NOT_PLAIN.intersection(folder):
            return []
        command = command.strip()
    if _NOT_PLAIN.intersection(command):
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    while words and _ASSIGNMENT.fullmatch(words[0]):
        if words[0].startswith(("PYTEST_ADDOPTS=", "NODE_OPTIONS=", "GOTESTSUM_")):
            return []
        words = words[1:]
    return words
