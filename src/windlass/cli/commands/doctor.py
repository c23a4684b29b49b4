"""Checks what this machine has and lacks, and says which isolation it offers."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl doctor", "wl doctor --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes none."""
    del parser


def run(call: Call) -> int:
    """Prints it; ends 3 if something is missing that agents cannot do without."""
    found = call.ask("doctor")
    call.data(found)
    for probe in found["needed"]:
        _print(call, probe)
    call.say(call.paint("agent CLIs", "bold"))
    for probe in found["drivers"]:
        _print(call, probe)
    isolation = found["isolation"]
    call.say(call.paint("isolation", "bold") + f"  {isolation['level']}: {isolation['note']}")
    for probe in isolation["probes"]:
        _print(call, probe)
    call.say(f"state in {found['home']}, sockets in {found['sockets']}")
    return 0 if found["ok"] else 3


def _print(call: Call, probe: dict[str, Any]) -> None:
    mark = call.paint("ok", "green") if probe["works"] else call.paint("no", "red")
    call.say(f"  {mark}  {probe['name']:<26} {printable_line(probe['detail'])}")
    if probe["fix"]:
        call.say(f"      {'':<26} {probe['fix']}")
