from __future__ import annotations

import importlib.util
import json
import posixpath
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import windlass.hooks
from windlass.core.claude import hooks
from windlass.core.crew import Policy
from windlass.core.policy import mandatory, proposals, tool_calls, tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.roles import MANAGER
from windlass.core.shell import line_policy
from windlass.core.shell.reach import Reach

WS = "/nowhere/ws"
ROLE = Policy(allow=tool_policy.ALLOWED, deny=tool_policy.DENIED)


def inside(path: str) -> bool:
    """As the daemon judges, but for links."""
    real = posixpath.normpath(path)
    return real == WS or real.startswith(f"{WS}/")


def call(tool: str, **given: Any) -> ToolCall:
    return ToolCall(tool=tool, input=given, cwd=WS)


def decide(one: ToolCall, rules: Policy = ROLE) -> Decision:
    return tool_policy.decide(one, rules, inside=inside)


@pytest.mark.parametrize(
    ("pattern", "tool", "given", "fits"),
    [
        ("Read", "Read", {"file_path": "a"}, True),
        ("Read", "ReadMore", {}, False),
        ("Task*", "TaskCreate", {}, True),
        ("mcp__a__*", "mcp__a__b", {}, True),
        ("mcp__a", "mcp__a__b", {}, True),
        ("mcp__a", "mcp__ab__b", {}, False),
        ("mcp__a__b", "mcp__a__b", {"x": 1}, True),
        ("Bash", "Bash", {"command": "x; y | $(z)"}, True),
        ("Bash(git log:*)", "Bash", {"command": "git log"}, True),
        ("Bash(git log:*)", "Bash", {"command": "git  log -p"}, True),
        ("Bash(git log *)", "Bash", {"command": "git log -p"}, True),
        ("Bash(git log:*)", "Bash", {"command": "git logs"}, False),
        ("Bash(git log:*)", "Bash", {"command": "git log; rm x"}, False),
        ("Bash(git log:*)", "Bash", {"command": "git log $(rm x)"}, False),
        ("Bash(git log:*)", "Bash", {"command": "git log\nrm x"}, False),
        ("Bash(git log:*)", "Bash", {}, False),
        ("Bash(make test)", "Bash", {"command": "make  test"}, True),
        ("Bash(make test)", "Bash", {"command": "make test x"}, False),
        ("Bash()", "Bash", {"command": "x"}, False),
        ("Bash(:*)", "Bash", {"command": "x"}, False),
        ("Bash(git", "Bash", {"command": "git"}, False),
        ("Read(src/**)", "Read", {"file_path": f"{WS}/src/a/b"}, True),
        ("Read(src/**)", "Read", {"file_path": "src/../b"}, False),
        ("Read(/nowhere/ws/src:*)", "Read", {"file_path": "src/b"}, True),
        ("Read(/nowhere/ws/src:*)", "Read", {"file_path": "srcs/b"}, False),
        ("Read(*.env)", "Read", {"file_path": "x.env"}, True),
        ("Read(src/**)", "Read", {}, False),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://A.com:80/x?y"}, True),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://b.a.com"}, False),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://b.com\\@a.com/"}, False),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://b.com@a.com/"}, False),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://b.com/?a.com"}, False),
        ("WebFetch(domain:*.a.com)", "WebFetch", {"url": "http://b.a.com/"}, True),
        ("WebFetch(https://a.com/x:*)", "WebFetch", {"url": "https://a.com/xy"}, True),
        ("Skill(review)", "Skill", {"skill": "review"}, True),
        ("Skill(review)", "Skill", {"skill": "reviewer"}, False),
        ("Skill(review)", "Skill", {"skill": 7}, False),
        ("Other(x)", "Other", {"a": "x"}, False),
        ("", "Read", {}, False),
    ],
)
def test_an_allowing_pattern_means_certainly_this_call(
    pattern: str, tool: str, given: dict[str, Any], *, fits: bool
) -> None:
    assert tool_policy.permits(pattern, call(tool, **given)) is fits


@pytest.mark.parametrize(
    ("pattern", "tool", "given", "fits"),
    [
        ("Bash(git push:*)", "Bash", {"command": "git push"}, True),
        ("Bash(git push:*)", "Bash", {"command": "ls && git push origin | tee x"}, True),
        ("Bash(git push:*)", "Bash", {"command": "echo $(git push)"}, True),
        ("Bash(git push:*)", "Bash", {"command": 'A=1 env -i X=2 "git" pu\\sh'}, True),
        ("Bash(git push:*)", "Bash", {"command": "if true; then sudo /usr/bin/git push; fi"}, True),
        ("Bash(git push:*)", "Bash", {"command": "git \\\n push"}, True),
        ("Bash(git push:*)", "Bash", {"command": "timeout 5 git push"}, True),
        ("Bash(git push:*)", "Bash", {"command": "bash -c 'git push nowhere'"}, True),
        ("Bash(git push:*)", "Bash", {"command": "git -C . push"}, True),
        ("Bash(git push:*)", "Bash", {"command": "sudo -u root git push"}, True),
        ("Bash(git push:*)", "Bash", {"command": "$(echo git) push"}, True),
        ("Bash(git push:*)", "Bash", {"command": "g=git; $g push"}, True),
        ("Bash(git push:*)", "Bash", {"command": "find . -exec git push {} +"}, True),
        ("Bash(git push:*)", "Bash", {"command": "npm run push"}, False),
        ("Bash(git push:*)", "Bash", {"command": "  "}, False),
        ("Bash(git push:*)", "Bash", {"command": "git pushes"}, False),
        ("Bash(git push:*)", "Bash", {"command": "git log"}, False),
        ("Bash(test:*)", "Bash", {"command": "npm test"}, False),
        ("Bash(git push:*)", "Bash", {"command": 7}, True),
        ("Bash(", "Bash", {"command": "ls"}, True),
        ("Edit(.github/**)", "Edit", {"file_path": f"{WS}/x/../.github/ci"}, True),
        ("Edit(.github/**)", "Edit", {"file_path": f"{WS}/github/ci"}, False),
        ("Edit(.github/**)", "Edit", {"file_path": "~/x"}, True),
        ("Read(~/.ssh/**)", "Read", {"file_path": "/home/x/.ssh/id"}, True),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://b.a.com"}, True),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://x@b.com"}, True),
        ("WebFetch(domain:a.com)", "WebFetch", {"url": "https://b.com/a.com"}, False),
        ("Other(x)", "Other", {"a": "y"}, True),
        ("Agent(x)", "Agent", {"subagent_type": "y"}, False),
    ],
)
def test_a_denying_pattern_may_mean_this_call(
    pattern: str, tool: str, given: dict[str, Any], *, fits: bool
) -> None:
    assert tool_policy.forbids(pattern, call(tool, **given)) is fits


@pytest.mark.parametrize(
    ("one", "verdict", "rule"),
    [
        (call("Read", file_path="a"), "allow", "Read"),
        (call("Read", file_path="/etc/passwd"), "deny", "paths"),
        (call("Read", file_path="../other/a"), "deny", "paths"),
        (call("Read", file_path=" /etc/passwd"), "deny", "paths"),
        (call("Read"), "deny", "paths"),
        (call("Glob", pattern="/etc/*"), "deny", "paths"),
        (call("Glob", pattern="**/*.py"), "allow", "Glob"),
        (call("Bash", command="make | tee log"), "allow", "Bash"),
        (call("TaskCreate", subject="x"), "allow", "mandatory"),
        (call("Agent", prompt="x"), "allow", "mandatory"),
        (call("EnterPlanMode"), "deny", "EnterPlanMode"),
        (call("AskUserQuestion"), "deny", "AskUserQuestion"),
        (call("mcp__a__b"), "deny", "unknown"),
    ],
)
def test_what_a_worker_has_before_anybody_configured_anything(
    one: ToolCall, verdict: str, rule: str
) -> None:
    decision = decide(one)
    assert (decision.verdict, decision.rule) == (verdict, rule)


INNER = [
    *("http://127.0.0.1/", "http://127.0.0.1:8080/x", "HTTP://LOCALHOST", "http://localhost./x"),
    *("http://a.localhost/", "http://[::1]/", "http://[::1]:80/x", "http://[::ffff:127.0.0.1]/"),
    *("http://169.254.169.254/latest/meta-data", "http://10.1.2.3/", "http://192.168.0.1/"),
    *("http://172.16.0.1", "http://[fe80::1]/", "http://[fd00::1]/", "http://0.0.0.0:80"),
    *("http://0/", "http://127.1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://2130706433/"),
    *(
        "http://0x7f000001/",
        "http://127.0.0.1./",
        "http://100.64.0.1/",
        "http://[64:ff9b::7f00:1]/",
    ),
    *("http://[2002:7f00:1::]/", "http://metadata.google.internal/", "http://printer.local/"),
    *(
        "http://intranet/",
        "http://256.1.1.1/",
        "http://1.2.3.4.5/",
        "http://08.1.1.1/",
        "http://134744072/",
    ),
]
ODD = [
    *("", "x", "example.com", "http:127.0.0.1", "http:/\\127.0.0.1", "http://a.com\\@127.0.0.1/"),
    *("http://a.com@127.0.0.1/", "http://1\uff127.0.0.1/", "http://%31.1/", " http://127.0.0.1"),
    *("file:///etc/passwd", "http://127.0.0\t.1/", "http://[::1", "http://[]/", "http://"),
]
UNBOXED = tool_policy.with_mandatory(Policy(), level="hooks")


@pytest.mark.parametrize("url", INNER)
def test_without_a_box_inner_addresses_are_not_fetched(url: str) -> None:
    decision = decide(call("WebFetch", url=url), UNBOXED)
    assert (decision.verdict, decision.rule) == ("deny", "network"), decision
    boxed = tool_policy.decide(call("WebFetch", url=url), ROLE, inside=Reach(inside, boxed=True))
    assert boxed.verdict == "allow"


@pytest.mark.parametrize("url", ODD)
def test_without_a_box_an_address_has_to_be_one_that_everybody_reads_alike(url: str) -> None:
    decision = decide(call("WebFetch", url=url), UNBOXED)
    assert (decision.verdict, decision.rule) == ("deny", "unclear"), decision


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://example.com",
            "http://example.com:80/a?b=http://127.0.0.1#c",
            "https://a_b.org/",
        ),
        *("https://8.8.8.8/", "https://[2606:4700::1111]/", "https://localhost.example.com/"),
        *("https://a.com./x", "https://127.0.0.1.example.com", "https://internal.example.com"),
    ],
)
def test_other_addresses_are_fetched(url: str) -> None:
    decision = decide(call("WebFetch", url=url), UNBOXED)
    assert decision.verdict == "allow", decision


@pytest.mark.parametrize("given", [{}, {"url": None}, {"url": 7}, {"url": ["x"]}, {"prompt": "x"}])
def test_a_fetch_of_nothing_is_denied_at_every_level(given: dict[str, Any]) -> None:
    for reach in (Reach(inside), Reach(inside, boxed=True)):
        assert tool_policy.decide(call("WebFetch", **given), ROLE, inside=reach).verdict == "deny"


def test_a_person_can_allow_an_inner_address_by_name() -> None:
    local = call("WebFetch", url="http://localhost:3000/")
    typed = "wl config add permissions.worker.allow 'WebFetch(domain:localhost)'"
    assert typed in decide(local, UNBOXED).reason
    assert tool_policy.suggestion(local, UNBOXED) == typed
    assert tool_policy.suggestion(call("WebFetch", url="http://[::1]/"), UNBOXED) == ""
    rules = Policy(allow=(*UNBOXED.allow, "WebFetch(domain:localhost)"))
    assert decide(local, rules).verdict == "allow"
    assert decide(call("WebFetch", url="http://127.0.0.1:3000/"), rules).verdict == "deny"


def test_without_a_box_no_tool_is_asked_to_leave_its_sandbox_or_its_workspace() -> None:
    for one in (
        call("Bash", command="ls", dangerouslyDisableSandbox=True),
        call("Agent", prompt="x", isolation="worktree"),
        call("Task", prompt="x", isolation="worktree"),
    ):
        assert decide(one, UNBOXED).verdict == "deny"
        assert tool_policy.decide(one, ROLE, inside=Reach(inside, boxed=True)).verdict == "allow"
    assert (
        "dangerouslyDisableSandbox"
        in decide(call("Bash", command="ls", dangerouslyDisableSandbox=True), UNBOXED).reason
    )
    assert decide(call("Bash", command="ls", dangerouslyDisableSandbox=False), UNBOXED).rule != (
        "sandbox"
    )
    assert decide(call("Agent", prompt="x"), UNBOXED).verdict == "allow"


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (call("Glob", pattern="{..,x}/*"), "deny"),
        (call("Glob", pattern="{a,{..,b}}/*"), "deny"),
        (call("Glob", pattern=".{.,x}/*"), "deny"),
        (call("Glob", pattern="{..}/*"), "deny"),
        (call("Glob", pattern="{/etc,x}/*"), "deny"),
        (call("Glob", pattern="{a,b}" * 8), "deny"),
        (call("Glob", pattern="x" * 5000), "deny"),
        (call("Glob", pattern="/usr/include/**/*.h"), "allow"),
        (call("Glob", pattern="**/*.{ts,tsx}"), "allow"),
        (call("Glob", pattern="{src,tests}/**/{a,b}*.py"), "allow"),
        (call("Glob", pattern="v{1..3}/*"), "allow"),
        (call("Grep", pattern="x", glob="../*"), "deny"),
        (call("Grep", pattern="x", glob="{..,a}/*"), "deny"),
        (call("Grep", pattern="x", glob=7), "deny"),
        (call("Grep", pattern="x", glob="/src/*.{ts,tsx}"), "allow"),
        (call("Grep", pattern="x", glob="!*.min.js"), "allow"),
        (call("Read", file_path="/usr/include/stdio.h"), "allow"),
        (call("Grep", pattern="x", path="/usr/lib/python3"), "allow"),
        (call("Read", file_path="/usr/../etc/passwd"), "deny"),
        (call("Write", file_path="/usr/include/x.h", content=""), "deny"),
        (call("Edit", file_path="/usr/include/x.h"), "deny"),
    ],
)
def test_where_a_pattern_or_a_reader_may_look(one: ToolCall, verdict: str) -> None:
    assert decide(one, UNBOXED).verdict == verdict


def test_a_virtual_environment_speaks_for_its_own_programs() -> None:
    found = proposals.propose([".venv", "README.md"])
    assert found.files == [".venv"]
    rules = Policy(allow=(*UNBOXED.allow, *found.allow))
    assert decide(call("Bash", command=".venv/bin/pytest -q tests"), rules).verdict == "allow"
    assert decide(call("Bash", command="pytest"), rules).verdict == "deny"


def test_an_unknown_tool_is_denied_with_what_a_person_would_type() -> None:
    said = tool_policy.decide(call("mcp__a__b"), ROLE, inside=inside, role=MANAGER).reason
    assert "wl config add permissions.manager.allow 'mcp__a__b'" in said
    narrow = Policy(allow=("Bash(git log:*)",))
    assert "'Bash(make test:*)'" in decide(call("Bash", command="make test"), narrow).reason
    assert "'Bash(make:*)'" in decide(call("Bash", command="make 'x'"), narrow).reason
    assert "wl config" not in decide(call("Bash", command="make $("), narrow).reason


def test_a_person_is_never_told_to_type_what_an_agent_made_up() -> None:
    for tool in ("x';evil;'", "mcp__a__b$(evil)", "a b", "x\ny"):
        odd = call(tool)
        assert "wl config" not in decide(odd).reason
        assert tool_policy.suggestion(odd) == ""
    assert tool_policy.suggestion(call("mcp__a__b")) == (
        "wl config add permissions.worker.allow 'mcp__a__b'"
    )
    assert tool_policy.suggestion(call("Read", file_path="/x")) == ""


def test_a_question_is_left_to_the_person_who_allowed_questions() -> None:
    question = call("AskUserQuestion", questions=[])
    assert "WAITING" in decide(question).reason
    assert decide(question, Policy(yolo=True)).verdict == "deny"
    assert decide(question, Policy(allow=("AskUserQuestion",))).verdict == "ask"
    both = Policy(allow=("AskUserQuestion",), deny=("AskUserQuestion",))
    assert decide(question, both).verdict == "deny"
    given = tool_policy.with_mandatory(Policy(allow=("AskUserQuestion",), deny=("WebFetch",)))
    assert decide(question, given).verdict == "ask"
    assert given.deny == ("EnterPlanMode", "ExitPlanMode", *tool_policy.DENIED[3:], "WebFetch")


def test_yolo_allows_everything_but_the_deny_list() -> None:
    rules = Policy(deny=("Bash(git push:*)",), yolo=True)
    assert decide(call("Read", file_path="/etc/passwd"), rules).verdict == "allow"
    assert decide(call("Unheard"), rules).verdict == "allow"
    denied = decide(call("Bash", command="git push"), rules)
    assert (denied.verdict, "Bash(git push:*)" in denied.reason) == ("deny", True)


TOOLS = (
    st.sampled_from([*tool_policy.ALLOWED, *tool_policy.DENIED, "mcp__a__b", "Unheard"]) | st.text()
)
ALPHABET = st.sampled_from([*"./ab *;|$(\"'\\:=~-é\0\n", "src", "..", "git ", "push", "https://"])
WORDS = st.lists(ALPHABET, max_size=8).map("".join)
VALUES = WORDS | st.none() | st.integers() | st.lists(WORDS, max_size=2)
KEYS = st.sampled_from(["file_path", "path", "notebook_path", "pattern", "command", "url", "skill"])
CALLS = st.builds(
    ToolCall,
    tool=TOOLS,
    input=st.dictionaries(KEYS, VALUES, max_size=4),
    cwd=st.sampled_from([WS, f"{WS}/src", "/", "/nowhere/other"]),
)
PATTERNS = TOOLS | st.builds("{}({})".format, TOOLS, WORDS) | WORDS
POLICIES = st.builds(
    Policy,
    allow=st.lists(PATTERNS, max_size=4).map(tuple),
    deny=st.lists(PATTERNS, max_size=2).map(tuple),
    yolo=st.booleans(),
)


@given(CALLS, POLICIES)
def test_a_denied_pattern_always_wins_and_what_nobody_allowed_is_denied(
    one: ToolCall, rules: Policy
) -> None:
    decision = decide(one, rules)
    if any(tool_policy.forbids(pattern, one) for pattern in rules.deny):
        assert decision.verdict == "deny"
    elif not rules.yolo and one.tool not in tool_policy.SESSION_TOOLS:
        permitted = any(tool_policy.permits(pattern, one) for pattern in rules.allow)
        assert permitted or decision.verdict == "deny"


@given(CALLS, PATTERNS)
def test_a_pattern_that_allows_a_call_denies_it_on_the_other_list(
    one: ToolCall, pattern: str
) -> None:
    if tool_policy.permits(pattern, one):
        assert tool_policy.forbids(pattern, one)


NAMES = st.sampled_from(
    [
        *("git", "ls", "cat", "cd", "eval", "env", "time", "sed", "find", "test", "A=b", "if", "."),
        *(
            "export",
            "PATH=x",
            "/bin/ls",
            "../x",
            "sort",
            "awk",
            "xargs",
            "sh",
            "printf",
            "--",
            "-x",
        ),
    ]
)
PLAIN = st.sampled_from(
    [
        *(
            "log",
            "push",
            "-c",
            "-c a=b",
            "config",
            "a",
            "src/a",
            "..",
            "../a",
            "/etc",
            "-x..",
            "-I/x",
        ),
        *(
            "a=../b",
            "a:/b",
            "--x=y",
            "--x=..",
            "-",
            "=",
            ":",
            "a/../b",
            "a/../../b",
            ".",
            "1",
            "=x",
        ),
        *("alias.x", "rebase", "-x", "-v", "-exec", "--", "file:///x", "x:", "a=", "/nowhere/ws/a"),
    ]
)
LINES = st.builds(lambda name, words: " ".join([name, *words]), NAMES, st.lists(PLAIN, max_size=4))
SHELLS = st.builds(
    Policy,
    allow=st.lists(
        st.sampled_from([*mandatory.SHELL, "Bash", "Bash(cat /etc:*)", "Bash(git log:*)"])
        | NAMES.map(lambda name: f"Bash({name}:*)"),
        max_size=4,
    ).map(tuple),
    deny=st.lists(LINES.map(lambda line: f"Bash({line}:*)"), max_size=1).map(tuple),
    yolo=st.just(value=False),
)
SHELL_CALLS = st.builds(
    ToolCall,
    tool=st.just("Bash"),
    input=LINES.map(lambda line: {"command": line}),
    cwd=st.sampled_from([WS, f"{WS}/src"]),
)


@settings(deadline=None, max_examples=500)
@given(asked=st.tuples(CALLS, POLICIES) | st.tuples(SHELL_CALLS, SHELLS), boxed=st.booleans())
@example(
    asked=(ToolCall(tool="Read", input={"file_path": ""}, cwd=WS), Policy(allow=("Read",))),
    boxed=False,
)
def test_alone_the_hook_never_allows_what_the_daemon_would_not(
    asked: tuple[ToolCall, Policy], tmp_path_factory: pytest.TempPathFactory, *, boxed: bool
) -> None:
    one, rules = asked
    file = tmp_path_factory.getbasetemp() / "policy.json"
    told = {"roots": [WS], "closed": [], "allow": rules.allow, "deny": rules.deny}
    file.write_text(json.dumps({**told, "yolo": rules.yolo, "boxed": boxed}))
    event = {"hook_event_name": "PermissionRequest", "tool_name": one.tool, "cwd": one.cwd}
    said = json.loads(_ALONE.decide({**event, "tool_input": one.input}, str(file)))
    if said["hookSpecificOutput"]["decision"]["behavior"] == "allow":
        reach = Reach(inside, home="/nowhere/home", boxed=boxed)
        assert tool_policy.decide(one, rules, inside=reach).verdict == "allow"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "hook_event_name": st.sampled_from(["PreToolUse", "PermissionRequest"]) | JSON,
        "tool_name": TOOLS | JSON,
        "tool_input": st.dictionaries(KEYS | st.text(), JSON, max_size=4) | JSON,
        "cwd": st.sampled_from([WS, "/", "", "relative", "/\0"]) | JSON,
    },
)


@given(event=EVENTS, rules=POLICIES)
def test_malformed_input_is_denied_and_never_crashes(event: dict[str, Any], rules: Policy) -> None:
    found = tool_calls.read(event)
    if found is None:
        return
    decision = decide(found, rules)
    tool_policy.suggestion(found, rules)
    json.dumps(hooks.answer(event, decision))
    if decision.verdict == "allow" and not rules.yolo and found.tool == "Bash":
        assert isinstance(event["tool_input"]["command"], str)


@given(st.dictionaries(st.sampled_from(["tool_name", "tool_input", "cwd"]), VALUES | st.just({})))
def test_what_is_no_call_is_none(event: dict[str, Any]) -> None:
    found = tool_calls.read(event)
    assert found is None or (found.tool == event["tool_name"] and found.input == {})


@given(WORDS, WORDS)
def test_shell_lines_are_never_too_odd(line: str, content: str) -> None:
    line_policy.suggestions(line, [content])
    if line_policy.vouches(line, [content]) and line_policy.read_line(line).commands:
        assert line_policy.mentions(line, content)


def _alone() -> Any:
    """The hook's module, which is loaded by its path and not as one of ours."""
    path = Path(windlass.hooks.__file__).with_name("alone.py")
    spec = importlib.util.spec_from_file_location("alone", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_ALONE = _alone()
