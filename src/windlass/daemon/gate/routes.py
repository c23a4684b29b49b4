"""The verbs of the gate."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import gate as wire
from windlass.daemon.gate.proofs import Proofs

_RUN = Refusal(
    "agents do not run the gate itself", "run its commands in your workspace: `wl gate` shows them"
)


def routes(proofs: Proofs) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    return {
        "gate": Verb(wire.GateRequest, wire.GateView, proofs.view, callers="both"),
        "gate.run": Verb(wire.GateRunRequest, wire.GateRunReply, proofs.run, refusal=_RUN),
        "gate.wait": Wait(wire.GateWaitRequest, wire.GateRunReply, proofs.wait, refusal=_RUN),
    }
