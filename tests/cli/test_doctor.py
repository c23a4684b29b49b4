"""`wl doctor` and `wl drivers`: what stands in the way, said once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.told import Told

from windlass.cli.commands import (
    doctor,
    drivers,
)

LEVELS = [
    {"driver": "claude", "level": "none", "why": "no `claude` on PATH", "fix": "install it"},
    {"driver": "standin", "level": "hooks", "why": "no bubblewrap", "fix": "install it"},
    {"driver": "other", "level": "hooks", "why": "no login", "fix": "make a token"},
]


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 3)])
def test_doctor_says_once_what_stands_in_the_way(
    ok: object, code: int, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    probes = [
        {"name": "claude", "works": False, "detail": "no `claude` on PATH", "fix": "install it"},
        {"name": "standin", "works": True, "detail": "1.0", "fix": ""},
    ]
    found = {"ok": ok, "needed": [], "driver": "claude", "drivers": probes, "home": "/h"}
    lacking = {"name": "bubblewrap", "works": False, "detail": "no bubblewrap", "fix": "install it"}
    isolation = {"agents": LEVELS, "probes": [lacking]}
    disk = [{"kind": "store", "path": "/h/db", "bytes": 5 << 20, "whole": False}]
    report = {**found, "isolation": isolation, "disk": disk, "sockets": "/s"}
    aside = {"kind": "spawn", "why": "the daemon died 3 times in it", "fix": "wl kill fox"}
    halted = {"kind": "merge", "why": "main was not moved", "fix": "wl retry owl"}
    left = [{**aside, "status": "set aside"}, {**halted, "status": "halted"}]
    nobodys = {"kind": "session", "subject": "wl-1-fox", "evidence": "no such", "action": "stop"}
    also = {"set-aside": lambda _: left, "repair": lambda _: [nobodys]}
    call = Told(doctor, doctor=lambda _: report, **also)
    assert doctor.run(call) == code
    above, _, below = capsysbinary.readouterr().out.decode().partition("isolation")
    assert above.count("claude (default)") == 1
    assert above.count("no `claude` on PATH") == 1
    assert "claude" not in below
    assert below.count("no bubblewrap") == 1, "once, where it was tried"
    assert "no login\n           for a box, make a token\n" in below
    assert (
        "halted\n  no  merge             main was not moved\n      wl retry owl\n"
        "set aside\n  no  spawn             the daemon died 3 times in it\n      wl kill fox\n"
        "orphans\n  no  session           wl-1-fox: no such\n      wl repair\n"
        "disk\n  store                 more than 5 MiB\n"
    ) in below


@pytest.mark.parametrize("command", [drivers, doctor])
def test_the_daemon_is_told_of_our_own_choice_of_a_driver(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = {"ok": True, "needed": [], "driver": "x", "drivers": [], "home": "", "sockets": ""}
    empty = {**nothing, "isolation": {"agents": [], "probes": []}, "disk": []}
    aside: dict[str, Any] = {"set-aside": lambda _: [], "repair": lambda _: []}
    call = Told(command, drivers=lambda _: [], doctor=lambda _: empty, **aside)
    command.run(call)
    monkeypatch.setenv("WINDLASS_DRIVER", "standin")
    command.run(call)
    told = [request["driver"] for verb, request in call.asked if verb in ("doctor", "drivers")]
    assert told == [None, "standin"]
