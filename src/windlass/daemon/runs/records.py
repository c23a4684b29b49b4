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
_REPORT, _RESULT = "report.md", "result.json"


def keep_document(context: Context, run: JobId, text: str) -> None:
    """Keeps the task as a run has it; a second time it is the same."""
    place = context.folders.run(run)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    whole_file.replace(place / DOCUMENT, text.encode("utf-8", "replace"))


def document(context: Context, run: JobId) -> str:
    """The task as a run has it."""
    return (context.folders.run(run) / DOCUMENT).read_text("utf-8")


def keep_visit(
    context: Context, run: JobId, visit: str, *, report: str, result: dict[str, Any]
) -> None:
    """Keeps what a visit came to, in a folder that no other visit has."""
    place = _folder(context, run, visit)
    whole_file.replace(place / _REPORT, report.encode("utf-8", "replace"))
    whole_file.replace(place / _RESULT, json.dumps(result, indent=1).encode())


def keep_iteration(
    context: Context, run: JobId, visit: str, *, iteration: int, duty: Duty, said: str
) -> None:
    """Keeps what a session said last that another one of its visit follows."""
    name = f"{iteration}.md" if duty == "work" else f"{iteration}.{duty}.md"
    whole_file.replace(_folder(context, run, visit) / name, said.encode("utf-8", "replace"))


def _folder(context: Context, run: JobId, visit: str) -> Path:
    place = context.folders.run(run) / visit
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def reports(context: Context, run: JobId) -> list[StepReport]:
    """What the visits of a run reported, in their order."""
    return list(_read(sorted(context.folders.run(run).glob(f"*/{_RESULT}"), key=_epoch)))


def _epoch(path: Path) -> int:
    return int(path.parent.name.rpartition(".")[2])


def _read(paths: Iterable[Path]) -> Iterator[StepReport]:
    for path in paths:
        result = json.loads(path.read_text("utf-8"))
        text = path.with_name(_REPORT).read_text("utf-8")
        yield StepReport(result["step"], result["visit"], result["result"], text)
