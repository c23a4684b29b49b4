"""What runs leave behind: a folder for each, with the task and what every visit came to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from windlass import whole_file
from windlass.core.jobs import JobId
from windlass.core.runs.part import Duty
from windlass.core.runs.prompts import StepReport
from windlass.daemon.kernel.context import Context

DOCUMENT = "prd.md"
"""The task, as all steps of a run read it."""
_PROMPT, _REPORT, _RESULT = "prompt.md", "report.md", "result.json"


def keep_document(context: Context, run: JobId, text: str) -> None:
    """Keeps the task as a run has it; a second time it is the same."""
    place = context.folders.run(run)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    whole_file.replace(place / DOCUMENT, text.encode("utf-8", "replace"))


def document(context: Context, run: JobId) -> str:
    """The task as a run has it."""
    return (context.folders.run(run) / DOCUMENT).read_text("utf-8")


def of_visit(label: str, number: int, *, began_at: float) -> str:
    """The folder of a visit in that of its run; no other visit has it."""
    return f"{label.replace(':', '-')}.{number}.{int(began_at * 1000)}"


def keep_prompt(
    context: Context, run: JobId, visit: str, text: str, *, iteration: int = 1, duty: Duty = "work"
) -> str:
    """Keeps what a session of a visit is told first; returns which file of its run that is."""
    first = iteration == 1 and duty == "work"
    name = _PROMPT if first else f"{_of_session(iteration, duty)}.{_PROMPT}"
    whole_file.replace(_made(context, run, visit) / name, text.encode("utf-8", "replace"))
    return f"{visit}/{name}"


def keep_visit(
    context: Context, run: JobId, visit: str, *, report: str, result: dict[str, Any]
) -> None:
    """Keeps what a visit came to."""
    place = _made(context, run, visit)
    whole_file.replace(place / _REPORT, report.encode("utf-8", "replace"))
    whole_file.replace(place / _RESULT, json.dumps(result, indent=1).encode())


def keep_iteration(
    context: Context, run: JobId, visit: str, *, iteration: int, duty: Duty, said: str
) -> None:
    """Keeps what a session said last that another one of its visit follows."""
    name = f"{_of_session(iteration, duty)}.md"
    whole_file.replace(_made(context, run, visit) / name, said.encode("utf-8", "replace"))


def reports(context: Context, run: JobId) -> list[StepReport]:
    """What the visits of a run reported, in their order."""
    return list(_read(sorted(context.folders.run(run).glob(f"*/{_RESULT}"), key=_epoch)))


def _of_session(iteration: int, duty: Duty) -> str:
    return str(iteration) if duty == "work" else f"{iteration}.{duty}"


def _made(context: Context, run: JobId, visit: str) -> Path:
    place = context.folders.run(run) / visit
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def _epoch(path: Path) -> int:
    return int(path.parent.name.rpartition(".")[2])


def _read(paths: Iterable[Path]) -> Iterator[StepReport]:
    for path in paths:
        result = json.loads(path.read_text("utf-8"))
        text = path.with_name(_REPORT).read_text("utf-8")
        yield StepReport(result["step"], result["visit"], result["result"], text)
