"""Mail at the command line, with a daemon and agents that are there."""

from __future__ import annotations

import pytest
from tests.support.ground import Ground, until


@pytest.mark.slow
def test_send_inbox_and_message_from_the_command_line(unboxed: Ground) -> None:
    ground = unboxed
    ground.new("fox", {"text": "I rest.\n\nWAITING"}, flags=["--print"])
    ground.wait("fox", states="waiting")
    body = "quotes ' \" \\ \n\tand \x1b[31m 👩‍🚀\nEnter C-c\n"
    (sent,) = ground.wl("send", "fox", "--json", "--wait", "30s", stdin=body).ok().json()
    assert sent["state"] in ("delivered", "read")
    assert (sent["route"], sent["text"]) == ("stdin", body)
    file = ground.folder / "said.txt"
    file.write_text(body + "more")
    (sent,) = ground.wl("send", "fox", "-F", str(file), "--json", "--wait", "30s").ok().json()
    assert sent["text"] == body + "more"
    assert sent["id"] in ground.wl("inbox", "fox").ok().out
    shown = ground.wl("message", "show", sent["id"]).ok().out
    assert "delivered" in shown
    assert "by stdin" in shown
    assert "\x1b" not in shown
    ground.wl("message", "ack", sent["id"]).ok()
    assert "nothing to acknowledge" in ground.wl("message", "ack", sent["id"]).ok().out
    assert ground.wl("inbox", "fox", "--sent", "--json").ok().json() == []
    for code, command in (
        (8, ("send", "nobody", "hello")),
        (8, ("message", "show", "msg-nothing")),
        (2, ("send", "fox", "")),
        (2, ("send", "fox", "-F", "/nowhere")),
        (2, ("inbox", "--last", "0")),
        (2, ("answer", sent["id"], "what?")),
        (2, ("send", "fox", "--expires", "0s", "x")),
    ):
        ground.wl(*command).failed(code)


@pytest.mark.slow
def test_mail_of_a_stopped_agent_waits_for_its_resume_and_fails_with_its_end(
    unboxed: Ground,
) -> None:
    ground = unboxed
    ground.new("fox", {"text": "I rest.\n\nWAITING"}, flags=["--print"])
    ground.wait("fox", states="waiting")
    ground.wl("pause", "fox").ok()
    done = ground.wl("send", "fox", "later").ok()
    assert "it waits for `wl resume fox`" in done.out
    (waiting,) = ground.wl("inbox", "fox", "--json").ok().json()
    assert (waiting["state"], waiting["under_way"]) == ("queued", False)
    ground.wl("resume", "fox").ok()
    until(lambda: ground.ask("message", message=waiting["id"])["state"] == "read")
    ground.wl("pause", "fox").ok()
    ground.wl("send", "fox", "never").ok()
    ground.wl("kill", "fox", "--force").ok()
    (failed,) = [
        one for one in ground.wl("inbox", "fox", "--all", "--json").ok().json() if one["ended_at"]
    ]
    assert (failed["text"], failed["state"]) == ("never", "failed")
    assert "fox has ended" in failed["reason"]
