"""What a person allows to an agent that runs: at once, to it alone, and it is told."""

from __future__ import annotations

import json
import subprocess

import pytest
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.errors import UserError
from windlass.core.events import PolicyDecision
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.daemon.launch.session_request import session_request
from windlass.daemon.policy import decisions
from windlass.store import rows


def _spawn(workshop: Workshop, name: str, **more: str) -> Agent:
    made = workshop.ask("spawn", goal="g", name=name, driver="standin", isolation="hooks", **more)
    return workshop.agent(made["uid"])


def _decide(workshop: Workshop, agent: Agent, line: str) -> Decision:
    fresh = workshop.agent(agent.uid)
    call = ToolCall(tool="Bash", input={"command": line}, cwd=agent.workspace)
    return decisions.decide_for_agent(workshop.context, fresh, call)


def test_a_lifted_denial_holds_at_once_for_this_agent_alone(workshop: Workshop) -> None:
    fox, owl = _spawn(workshop, "fox"), _spawn(workshop, "owl")
    denial = _decide(workshop, fox, "git branch -D x")
    assert denial.verdict == "deny"
    assert "wl allow fox 'Bash(git branch -D:*)'" in denial.reason
    done = workshop.ask("allow", agent="fox", patterns=list(denial.patterns))
    assert done["fresh"] == ["Bash(git branch -D:*)"]
    assert _decide(workshop, fox, "git branch -D x").verdict == "allow"
    assert _decide(workshop, owl, "git branch -D x").verdict == "deny"
    file = json.loads(workshop.context.folders.policy(fox.uid).read_text())
    assert "Bash(git branch -D:*)" in file["allow"]
    assert "Bash(git branch -D:*)" in str(workshop.ask_as(fox, "inbox"))


@pytest.mark.parametrize(
    ("reading", "line", "pattern"),
    [
        ("guided", "git branch -D x", "Bash(git branch -D:*)"),
        ("guided", "make -C ../owl all", "Bash(make -C ../owl all)"),
        ("strict", "docker ps", "Bash(docker ps:*)"),
    ],
)
def test_what_denials_say_would_allow_a_line_allows_it(
    workshop: Workshop, reading: str, line: str, pattern: str
) -> None:
    own = workshop.context.folders.home / "config.toml"
    own.write_text(f'[policy]\nshell = "{reading}"\n')
    fox = _spawn(workshop, "fox")
    call = PolicyDecision(
        by="daemon",
        hook="PreToolUse",
        reason=_decide(workshop, fox, line).reason,
        tool_name="Bash",
        tool_input={"command": line},
        cwd=fox.workspace,
    )
    workshop.context.store.write(lambda w: w.emit(call, repo=fox.repo, agent=fox.uid))
    (denial,) = workshop.ask("denials", agent="fox")
    assert denial["suggest"] == [f"wl config add permissions.worker.allow '{pattern}'"]
    assert denial["allow"] == [pattern]
    workshop.ask("allow", agent="fox", patterns=denial["allow"])
    assert _decide(workshop, fox, line).verdict == "allow"


def test_without_a_box_lines_are_judged_by_their_reach_unless_somebody_asked_for_lists(
    workshop: Workshop,
) -> None:
    assert _spawn(workshop, "fox").policy.reading == "guided"
    own = workshop.context.folders.home / "config.toml"
    own.write_text('[policy]\nshell = "strict"\n')
    lead = _spawn(workshop, "lead", role="manager")
    assert lead.policy.reading == "strict"
    own.write_text('[policy]\nshell = "guided"\n')
    assert _spawn(workshop, "owl", parent="lead").policy.reading == "strict"


def test_what_is_no_pattern_is_refused(workshop: Workshop) -> None:
    _spawn(workshop, "fox")
    with pytest.raises(UserError):
        workshop.ask("allow", agent="fox", patterns=["Bash("])


def test_git_reads_what_an_agent_configures_and_nobody_else_does(
    workshop: Workshop,
) -> None:
    fox = _spawn(workshop, "fox")
    line = _decide(workshop, fox, "git config user.name Fox").line
    session = workshop.context.store.read(lambda c: rows.sessions(c, fox.uid))[0]
    env = session_request(workshop.context, fox, session).env
    subprocess.run(["sh", "-c", line], cwd=fox.workspace, env=env, check=True)
    asked = ["git", "config", "user.name"]
    mine = subprocess.run(asked, cwd=fox.workspace, env=env, capture_output=True, text=True)  # noqa: PLW1510
    assert mine.stdout == "Fox\n"
    plain = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    others = subprocess.run(asked, cwd=fox.workspace, env=plain, capture_output=True, text=True)  # noqa: PLW1510
    assert others.stdout != "Fox\n"
