"""`wl retry`: what is meant, and what is said of what was given up."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.told import Told, no_change

from windlass.cli.commands import (
    retry,
)
from windlass.core.errors import NotFound, UserError


def test_retry_finds_what_is_meant_by_an_agent_or_an_id() -> None:
    def left(key: str, *agents: str) -> dict[str, Any]:
        return {"id": key, "kind": "merge", "agents": list(agents)}

    several = [left("person:1", "fox"), left("person:2", "fox", "foxglove"), left("daemon:3")]
    done = {"id": "person:2", "kind": "merge", "back": False}
    for wanted, meant in (("foxg", "person:2"), ("daemon", "daemon:3"), ("person:1", "person:1")):
        call = Told(retry, wanted, retry=lambda _: done, **{"set-aside": lambda _: several})
        assert retry.run(call) == 0
        assert call.asked[-1][1]["intent"] == meant
    with pytest.raises(UserError, match="fox may mean several") as refused:
        retry.run(Told(retry, "fox", **{"set-aside": lambda _: several}))
    assert "person:1, person:2" in refused.value.hint
    absent = {"why": lambda _: {"id": "owl"}, "set-aside": lambda _: several}
    with pytest.raises(NotFound, match="nothing of owl is set aside or halted"):
        retry.run(Told(retry, "owl", change=no_change, **absent))


@pytest.mark.parametrize("back", [True, False])
def test_who_gives_up_a_merge_is_told_that_the_branch_stays(
    back: object, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    left = {"id": "person:1", "kind": "merge", "agents": ["fox"], "branch": "main"}
    done = {"id": "person:1", "kind": "merge", "back": back}
    words = ("fox", "--back") if back else ("fox",)
    retry.run(Told(retry, *words, retry=lambda _: done, **{"set-aside": lambda _: [left]}))
    said = capsysbinary.readouterr().out.decode()
    assert ("main stays where it is, merged or not: git log main\n" in said) == back
