"""Every verb of a real daemon answers what its route declares: each key, and no other."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from tests.support.ground import Ground
from tests.support.replies import ROUTES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]

STAY = {"text": "WAITING"}
READ = {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_use_id": "t1"}


def bash(command: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command}}


class Asker:
    """Asks, and notes which verbs have answered; a reply of another shape fails the test."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.answered: set[str] = set()

    def __call__(self, verb: str, **request: Any) -> Any:
        """Asks as the person."""
        reply = self.ground.ask(verb, **request)
        self.answered.add(verb)
        return reply

    def as_agent(self, name: str, verb: str, **request: Any) -> Any:
        """Asks as an agent."""
        reply = self.ground.ask_as(name, verb, **request)
        self.answered.add(verb)
        return reply


def test_every_verb_answers_with_the_keys_and_types_that_it_declares(ground: Ground) -> None:
    ground.wl("list").ok()
    ask = Asker(ground)
    set_up(ask, ground)
    spawn(ask, ground)
    look(ask, ground)
    talk(ask)
    steer(ask, ground)
    propose(ask, ground)
    land(ask, ground)
    run(ask, ground)
    end(ask, ground)
    assert set(ROUTES) - ask.answered == set()


def set_up(ask: Asker, ground: Ground) -> None:
    """Repository, configuration, drivers, hooks."""
    settings = {"config_folder": str(ground.home / ".claude")}
    assert ask("init", accept=True)["accepted"]
    assert ask("repo.add", repo=".")["root"] == ask("repos")[0]["root"]
    assert ask("whoami")["role"] == "person"
    assert "driver" in ask("config")["settings"]
    ask("config.set", config_key="max_agents", value="9")
    ask("config.add", config_key="permissions.worker.allow", value="Bash(make:*)")
    ask("config.remove", config_key="permissions.worker.allow", value="Bash(make:*)")
    ask("config.set", config_key="diff_tool", value="meld")
    assert ask("trust")["accepted"]
    assert ask("trust.revoke", keys=["diff_tool"])["waiting"][0]["key"] == "diff_tool"
    ask("trust.accept", digests=[line["digest"] for line in ask("trust")["waiting"]])
    assert ask("roles")
    assert ask("drivers")
    ask("drivers.trusted", driver="standin")
    ask("drivers.trust", driver="standin")
    ask("login.keep", driver="claude", token="sk-ant-oat01-of-nobody")  # noqa: S106
    assert not ask("login.offer", driver="claude")["offer"]
    assert ask("login.forget", driver="claude")["kept_at"] is None
    assert ask("doctor")["needed"]
    assert ask("set-aside") == []
    ask("config.add", config_key="gate.commands", value="true", user=True)
    assert ask("gate")["outcome"] is None
    assert ask("gate.wait", job=ask("gate.run")["job"])["outcome"] == "ran-nothing"
    assert ask("jobs", all=True)["jobs"]
    assert ask("repair", dry_run=True) == []
    assert ask("gc")["swept"]
    ask("hooks.install", where="user", instructions="claude-md", **settings)
    assert any(place["installed"] for place in ask("hooks.status", **settings))
    ask("hooks.uninstall", where="user", **settings)
    ask("hooks.uninstall", **settings)
    ask("primary", hook_event_name="SessionStart", session_id="s1")


def spawn(ask: Asker, ground: Ground) -> None:
    """A manager, an agent below it that commits, and one that only says something and ends."""
    work = [
        bash("cat /etc/shadow"),
        bash("echo new > new.txt && git add new.txt && git commit -qm new"),
        STAY,
    ]
    for name, more, turns in (
        ("boss", {"role": "manager"}, [STAY]),
        ("fox", {"parent": "boss"}, work),
        ("owl", {"mode": "headless"}, [{"text": "I HAVE COMPLETED THE GOAL"}]),
    ):
        script = ground.script(name, *turns)
        ask("spawn", goal=f"be {name}", name=name, driver="standin", script=script, **more)
    ground.wait("boss", "fox", "owl", states="waiting,complete")


def look(ask: Asker, ground: Ground) -> None:
    """What only reads."""
    assert len(ask("agents", ended=True)) == 3
    assert ask("info", agent="fox")["sessions"]
    assert ask("prompt", agent="fox")["prompt"]
    assert ask("status")["agents"][1]["commits"]
    assert ask("why", agent="fox", history=True)["history"]
    assert ask("look", agent="fox")["live"]
    assert "raw" in ask("look", agent="owl")
    assert ask("diff", agent="fox")["committed"]
    shutil.rmtree(ask("diff", agent="fox", folders=True)["folder"])  # as `wl diff` does
    assert ask("place", agent="fox")["path"]
    assert ask("attachment", agent="fox")["attach"]
    assert ask("log", agent="fox")
    for by in ("agent", "day"):
        assert ask("costs", by=by)["by"] == by
    assert ask("denials", agent="fox")
    ask("allow", agent="fox", patterns=["Bash(curl:*)"])
    given = {**READ, "tool_input": {"file_path": "new.txt"}, "cwd": str(ground.folder)}
    assert ask("explain.tool", input=json.dumps(given))["decision"]
    assert ask.as_agent("fox", "decide", **given)
    assert ask.as_agent("fox", "mail.wait", session=99, arm="x") == {"text": None}


def talk(ask: Asker) -> None:
    """Mail, questions and notices."""
    (sent,) = ask("send", agent="fox", text="hello")["messages"]
    ask("receipts", messages=[sent["id"]], timeout=30.0)
    assert ask("inbox", agent="fox", all=True)
    assert ask("message", message=sent["id"])["history"]
    ask("ack", messages=[sent["id"]])
    ask.as_agent("boss", "ask", text="which port?")
    assert ask("questions")
    ask("answer", question="boss", text="8080")
    posted = ask("notify", text="done", type="complete")
    assert ask("listen", route="listen", listener="a", timeout=0.0)["notices"]
    ask("taken", numbers=[posted["number"]], listener="a", route="listen")


def steer(ask: Asker, ground: Ground) -> None:
    """What is done to agents that live."""
    ask("note", agent="fox", text="it goes well", key="note")
    assert ask("retry", intent="person:note")["kind"] == "note"
    ground.wait("fox", states="waiting")
    ask("interrupt", agent="fox")
    assert ask("pause", agent="fox")["state"] == "paused"
    ask("resume", agent="fox")
    ask("reassign", agent="fox", parent=None)
    assert ask("undo")["undoes"] == "reassign"


def propose(ask: Asker, ground: Ground) -> None:
    """A gate that is found, tried and written."""
    ask("config.remove", config_key="gate.commands", user=True)
    (ground.folder / "repo" / "Makefile").write_text("test:\n\ttrue\n")
    ground.git("add", "Makefile")
    ground.git("commit", "-q", "-m", "tests")
    assert ask("init.look")["proves"]
    assert ask("gate.wait", job=ask("init.prove")["job"])["outcome"] == "passed"
    assert ask("init", accept=True, commit=False)["written"]


def land(ask: Asker, ground: Ground) -> None:
    """A branch that lands and is taken back, and one that conflicts with it and is judged."""
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "a gate")
    for name in ("mine", "yours"):
        ground.git("checkout", "-q", "-b", name, "main")
        (ground.folder / "repo" / "same.txt").write_text(f"{name}\n")
        ground.git("add", "same.txt")
        ground.git("commit", "-q", "-m", name)
        ground.git("checkout", "-q", "main")
    assert ask("candidates")["target"] == "main"
    mine = ask("change.wait", change=ask("submit", change="mine")["id"])
    assert mine["state"] == "landed"
    yours = ask("change.wait", change=ask("submit", change="yours")["id"])["id"]
    assert ask("change", change=yours)["state"] == "conflict"
    assert ask("changes", all=True)["changes"]
    assert ask("change.diff", change=yours)["committed"]
    assert ask("commit", commit=mine["commit"])["changes"][0]["id"] == mine["id"]
    assert ask("landings")["landings"][0]["changes"][0]["id"] == mine["id"]
    assert ask("unfinished")["waiting"] == [yours]
    assert ask("block", change=yours, why="no")["state"] == "held"
    assert ask("approve", change=yours)["state"] == "queued"
    assert ask("change.wait", change=yours)["state"] == "conflict"
    ask("change.retry", change=yours)
    assert ask("change.wait", change=yours)["state"] == "conflict"
    assert ask("drop", change=yours)["state"] == "dropped"
    assert ask("change.undo", change=mine["id"])["state"] == "dropped"


def run(ask: Asker, ground: Ground) -> None:
    """A board with nothing to do is worked off at once."""
    board = ground.folder / "repo" / ".windlass" / "kanban.md"
    board.write_text(
        "## TASKS\n\n- [N] **[API-1]** Never\n  - Priority: LOW\n  - Dependencies: none\n"
    )
    assert ask("run.preview", driver="standin")["tasks"] == 0
    assert not ask("run", driver="standin")["joined"]
    assert ask("runs.wait", after=ask("runs")["at"])["is_over"]
    assert ask("runs")["tasks"] == []
    assert ask("task", task="API-1")["marker"] == "N"
    assert ask("task.retry", task="api-1")["marker"] == " "
    ask("run", driver="standin", tasks=["API-1"])
    assert ask("run.pause", paused=True)["paused"]
    assert ask("task.drop", task="API-1")["task"] == "API-1"
    assert not ask("run.pause", paused=False)["paused"]
    while not ask("runs.wait", after=ask("runs")["at"])["is_over"]:
        pass
    assert ask("task", task="API-1")["marker"] == "N"
    board.write_text(board.read_text().replace("[N]", "[ ]"))
    planned = ask("plan", task="API-1", driver="standin")
    assert ask("plan.stop", task="API-1")["run"] == planned["run"]
    while not ask("plan.wait", task="API-1", run=planned["run"], after=0)["is_over"]:
        pass
    board.unlink()


def end(ask: Asker, ground: Ground) -> None:
    """Merging, ending, bringing back, and what is left in the end."""
    ground.wait("fox", states="waiting,complete")
    ask("refresh", agent="fox")
    assert ask("merge-check", agent="fox", into="main")["clean"]
    assert ask("merge", agent="fox", into="main", ungated=True)["ended"][0]["trash"]
    assert ask("undo")["restored"][0]["entry"]
    ask("end", agents=["fox"])
    (newest, *_) = ask("trash")
    assert ask("trash.show", entries=[newest["id"]])["contents"]
    assert ask("trash.restore", entries=[newest["id"]])["restored"]
    ask("end", agents=[], tree=True)
    (archived, *_) = ask("archives")
    assert ask("archives", archive=archived["id"])[0]["files"]
    assert ask("trash.empty")["emptied"]
    ask("repo.remove")
    assert ask("foreign-work", paths=[]) == []
    assert ask("uninstall.look")["home"]
    assert ask("uninstall")["problems"] == []
