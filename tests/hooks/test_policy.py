from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.conftest import HOOKS, hook, raw_lines, told
from tests.support.ground import until

from windlass.hooks import alone

ALLOW = ["Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS", "Bash"]


class Bench:
    """A workspace with a policy, and the hook asked in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.workspace = place / "home" / "ws"
        self.workspace.mkdir(parents=True)
        self.other = place / "home" / "other"
        self.other.mkdir()
        self.events = place / "events"
        self.policy()

    def policy(self, **changed: Any) -> None:
        """Writes the policy file, as it is but for what changed."""
        kept = {
            "workspace": str(self.workspace),
            "roots": [str(self.workspace), str(self.place / "tmp")],
            "closed": [str(self.place / "home")],
            "allow": ALLOW,
            "deny": [],
            "yolo": False,
        }
        (self.place / "policy.json").write_text(json.dumps({**kept, **changed}))

    def run(self, body: bytes) -> subprocess.CompletedProcess[bytes]:
        """Runs the hook on an input."""
        paths = [str(self.place / name) for name in ("events", "wake", "api", "policy.json")]
        return hook("policy", *paths, body=body)

    def ask(self, tool: str, *, event: str = "PreToolUse", **given: Any) -> dict[str, Any]:
        """What the hook says about a call."""
        said = self.run(call(tool, cwd=str(self.workspace), event=event, **given))
        assert (said.returncode, said.stderr) == (0, b"")
        found: dict[str, Any] = json.loads(said.stdout)["hookSpecificOutput"]
        assert found["hookEventName"] == event
        return found

    def verdict(self, tool: str, **given: Any) -> str:
        """Only whether."""
        return str(self.ask(tool, **given)["permissionDecision"])


def call(tool: str, *, cwd: str, event: str = "PreToolUse", **given: Any) -> bytes:
    said = {"hook_event_name": event, "cwd": cwd, "tool_name": tool, "tool_input": given}
    return json.dumps(said).encode()


@pytest.fixture
def bench(place: Path) -> Bench:
    """No daemon behind it."""
    return Bench(place)


@contextlib.contextmanager
def daemon(bench: Bench, answer: Callable[[bytes], bytes | None]) -> Iterator[list[bytes]]:
    """Something on the agent's socket, once; None is no answer at all."""
    heard: list[bytes] = []
    done = threading.Event()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(bench.place / "api"))
    listening.listen()

    def serve() -> None:
        client, _ = listening.accept()
        listening.close()
        (bench.place / "api").unlink()
        with client:
            data = client.recv(1 << 20)
            heard.append(data)
            said = answer(data)
            if said is None:
                done.wait(20)
            else:
                client.sendall(said)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield heard
    finally:
        done.set()
        thread.join()
        listening.close()


def ok(body: bytes, *, status: bytes = b"200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (status, size, body)


def test_the_daemons_answer_is_printed_as_it_is(bench: Bench) -> None:
    answer = b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'
    asked = call("Anything", cwd="/", a="ü\n")
    with daemon(bench, lambda _: ok(answer)) as heard:
        done = bench.run(asked)
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, b"")
    head, _, body = heard[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/decide HTTP/1.0\r\n")
    assert body == asked
    assert told(bench.events) == [json.loads(asked)]


def test_the_daemon_is_poked_once_it_has_answered(bench: Bench) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wake:
        wake.bind(str(bench.place / "wake"))
        wake.settimeout(10)
        assert bench.verdict("Unheard") == "deny"
        assert wake.recv(100) == b"hook"
        wake.setblocking(False)  # noqa: FBT003 its only parameter
        with pytest.raises(BlockingIOError):
            wake.recv(100)


def test_no_opinion_is_passed_on(bench: Bench) -> None:
    with daemon(bench, lambda _: ok(b"{}")):
        assert bench.run(call("AskUserQuestion", cwd="/")).stdout == b"{}"
    assert len(raw_lines(bench.events)) == 1


def test_a_denial_is_recorded_with_who_decided_and_what_was_asked(bench: Bench) -> None:
    answer = b'{"hookSpecificOutput": {"permissionDecision": "deny"}}'
    asked = call("Read", cwd="/")
    with daemon(bench, lambda _: ok(answer)):
        bench.run(asked)
    assert told(bench.events)[1] == {
        "hook_event_name": "PolicyDecision",
        "by": "daemon",
        "asked": json.loads(asked),
        "answered": json.loads(answer),
    }
    reason = bench.ask("Unheard", why="x")["permissionDecisionReason"]
    last = told(bench.events)[-1]
    assert (last["by"], last["asked"]["tool_input"]) == ("policy file", {"why": "x"})
    assert last["answered"]["hookSpecificOutput"]["permissionDecisionReason"] == reason


def test_a_long_call_is_cut_in_the_record_of_its_denial(bench: Bench) -> None:
    assert bench.verdict("Unheard", text="é" * 100_000) == "deny"
    asked, decided = told(bench.events)
    assert len(asked["tool_input"]["text"]) == 100_000
    assert decided["asked"].startswith('{"hook_event_name"')
    assert len(decided["asked"]) == 1 << 16


@pytest.mark.parametrize(
    "answer",
    [
        ok(b'{"a": 1}', status=b"403 Forbidden"),
        ok(b'{"a": 1}', status=b"500 Oh"),
        ok(b'{"a": 1}', length=99),
        ok(b'{"a": 1}', length=3),
        ok(b""),
        ok(b"allow"),
        b"",
        b"garbage",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
    ],
)
def test_what_is_no_good_answer_is_none(bench: Bench, answer: bytes) -> None:
    with daemon(bench, lambda _: answer):
        assert bench.verdict("Read", file_path="a") == "allow"
    with daemon(bench, lambda _: answer):
        assert bench.verdict("Read", file_path="/etc/passwd") == "deny"


def test_a_daemon_that_died_is_waited_for_and_asked_again(bench: Bench) -> None:
    """It was killed before the call, and its successor with the call in its hands."""
    answer = b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'
    replies = iter((b"", ok(b"{}", status=b"503 Ends"), ok(answer)))
    path = bench.place / "api"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))

    def come_back() -> None:
        until(bench.events.exists)  # the hook runs, and has nobody to ask
        path.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(bench.place / "new"))
            listening.listen()
            (bench.place / "new").rename(path)
            for reply in replies:
                client, _ = listening.accept()
                with client:
                    client.recv(1 << 20)
                    client.sendall(reply)

    back = threading.Thread(target=come_back)
    back.start()
    assert bench.verdict("Unheard") == "allow"
    back.join()


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", {"command": 'for f in *; do echo "$f" | tee log; done'}),
        ("Bash", {"command": "cat /etc/passwd && (cd .. && make) > out 2>&1"}),
        ("WebFetch", {"url": "https://example.com"}),
        ("mcp__a__b", {}),
        ("Agent", {"prompt": "help", "isolation": "worktree"}),
    ],
)
def test_alone_in_a_box_it_allows_what_the_box_allows(
    bench: Bench, tool: str, given: dict[str, Any]
) -> None:
    allow = [*ALLOW, "WebFetch", "mcp__a"]
    bench.policy(boxed=True, allow=allow)
    assert bench.verdict(tool, **given) == "allow"
    bench.policy(boxed=True, allow=allow, deny=[tool])
    assert bench.verdict(tool, **given) == "deny"


def test_alone_in_a_box_the_lists_hold(bench: Bench) -> None:
    bench.policy(boxed=True, allow=["Bash(make:*)", "Read"], deny=["Bash(rm:*)"])
    for tool, given in (
        ("Bash", {"command": "make; ls"}),
        ("Bash", {"command": "rm x"}),
        ("WebFetch", {"url": "https://example.com"}),
        ("Read", {"file_path": str(bench.other)}),
        ("AskUserQuestion", {}),
    ):
        assert bench.verdict(tool, **given) == "deny", given


def test_a_daemon_that_hangs_is_not_waited_for(bench: Bench) -> None:
    with daemon(bench, lambda _: None) as heard:
        assert bench.verdict("Unheard") == "deny"
    assert heard


def test_a_daemon_that_never_takes_the_call_is_not_waited_for(bench: Bench) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind(str(bench.place / "api"))
        deaf.listen(0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as first:
            first.connect(str(bench.place / "api"))
            assert bench.verdict("Write", file_path="new", content="x" * 3_000_000) == "allow"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "{ws}/a"}),
        ("Read", {"file_path": "a/../b"}),
        ("Write", {"file_path": "{ws}/no/such/folder/a", "content": ""}),
        ("Edit", {"file_path": "{ws}/no/such/../a"}),
        ("NotebookEdit", {"notebook_path": "{ws}/n.ipynb"}),
        ("Read", {"file_path": "{place}/tmp/x"}),
        ("Glob", {"pattern": "**/*.py"}),
        ("Glob", {"pattern": "{ws}/src/*.py"}),
        ("Grep", {"pattern": "x"}),
        ("Grep", {"pattern": "../..", "path": "src"}),
        ("LS", {"path": "{ws}"}),
        ("TodoWrite", {"todos": []}),
        ("TaskCreate", {"subject": "s"}),
        ("Agent", {"prompt": "help"}),
        ("Bash", {"command": "make test"}),
        ("Bash", {"command": "cat src/a.py"}),
        ("Bash", {"command": "ls {ws}/src"}),
        ("Bash", {"command": "A=b python -m pytest --cov=src -x"}),
    ],
)
def test_alone_it_allows(bench: Bench, tool: str, given: dict[str, Any]) -> None:
    assert bench.verdict(tool, **_filled(bench, given)) == "allow"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "/etc/passwd"}),
        ("Read", {"file_path": "{other}/a"}),
        ("Read", {"file_path": "{ws}-more/a"}),
        ("Read", {"file_path": "{ws}/../other/a"}),
        ("Write", {"file_path": "{ws}/no/such/../../../other/a"}),
        ("Write", {"file_path": "out/a"}),
        ("Write", {"file_path": "out/../b"}),
        ("Read", {"file_path": "loop/../../other"}),
        ("Edit", {"file_path": "chain/new/file"}),
        ("Read", {"file_path": " /etc/passwd"}),
        ("Read", {"file_path": "/etc/passwd\ufeff"}),
        ("Read", {"file_path": "~/x"}),
        ("Read", {"file_path": "a\x00b"}),
        ("Read", {"file_path": "é/secret"}),
        ("Read", {"file_path": "e\u0301/secret"}),
        ("Read", {}),
        ("Read", {"file_path": 7}),
        ("Read", {"file_path": "a", "path": "/etc"}),
        ("NotebookEdit", {"notebook_path": "/n.ipynb"}),
        ("Glob", {"pattern": "/etc/*"}),
        ("Glob", {"pattern": "/*"}),
        ("Glob", {"pattern": "../*"}),
        ("Glob", {"pattern": "*/../../*"}),
        ("Glob", {"pattern": "out/*"}),
        ("Glob", {"pattern": "*", "path": "/"}),
        ("Glob", {}),
        ("Grep", {"pattern": "x", "path": ".."}),
        ("LS", {"path": "/"}),
        ("Bash", {"command": "make; rm x"}),
        ("Bash", {"command": "echo $HOME"}),
        ("Bash", {"command": 'echo "a"'}),
        ("Bash", {"command": "make\nls"}),
        ("Bash", {"command": "make\tx"}),
        ("Bash", {"command": "cat /etc/passwd"}),
        ("Bash", {"command": "cat ../other/a"}),
        ("Bash", {"command": "cat out/a"}),
        ("Bash", {"command": "git -C{other} log"}),
        ("Bash", {"command": "tool --file=/etc/passwd"}),
        ("Bash", {"command": "scp host:/etc/passwd x"}),
        ("Bash", {"command": "/usr/bin/id"}),
        ("Bash", {"command": "cd .."}),
        ("Bash", {"command": " "}),
        ("Bash", {}),
        ("Bash", {"command": ["ls"]}),
        ("WebFetch", {"url": "https://example.com"}),
        ("mcp__a__b", {}),
        ("AskUserQuestion", {"questions": []}),
        ("Unheard", {}),
        ("", {}),
    ],
)
def test_alone_it_denies(bench: Bench, tool: str, given: dict[str, Any]) -> None:
    (bench.workspace / "out").symlink_to(bench.other)
    (bench.workspace / "loop").symlink_to("loop")
    (bench.workspace / "chain").symlink_to("out/deeper")
    (bench.workspace / "é").symlink_to(bench.other)
    assert bench.verdict(tool, **_filled(bench, given)) == "deny"


def test_alone_it_denies_where_the_folder_is_not_the_agents(bench: Bench) -> None:
    bench.policy(allow=["Grep", "Bash(ls:*)"])
    for tool, given in (("Grep", {"pattern": "x"}), ("Bash", {"command": "ls"})):
        said = bench.run(call(tool, cwd="/", **given)).stdout
        assert json.loads(said)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_the_deepest_place_decides(bench: Bench) -> None:
    bench.policy(
        roots=[str(bench.place)], closed=[str(bench.workspace / "x"), str(bench.place / "home")]
    )
    assert bench.verdict("Read", file_path=str(bench.place / "a")) == "allow"
    assert bench.verdict("Read", file_path=str(bench.other / "a")) == "deny"
    bench.policy(roots=[str(bench.workspace)], closed=[str(bench.workspace / "x")])
    assert bench.verdict("Read", file_path="x/y") == "deny"
    assert bench.verdict("Read", file_path="xy") == "allow"


def test_alone_a_folder_that_holds_what_is_not_the_agents_is_left_where_it_is(bench: Bench) -> None:
    own = bench.workspace / "own"
    own.mkdir()
    bench.policy(closed=[str(own / "policy.json")], allow=["Bash(mv:*)", "Bash(cp:*)"])
    for line in ("mv own x", f"cp -r x {own}", "mv . x", "mv own/policy.json x"):
        assert bench.verdict("Bash", command=line) == "deny", line
    assert bench.verdict("Bash", command="mv own/notes own/x") == "allow"


def test_prefixes_allow_what_begins_with_them_word_by_word(bench: Bench) -> None:
    bench.policy(allow=["Bash(git log:*)", "Bash(/usr/bin/make:*)", "Bash(", "Bash(:*)", "Read"])
    assert bench.verdict("Bash", command="git log --oneline") == "allow"
    assert bench.verdict("Bash", command="git  log") == "allow"
    assert bench.verdict("Bash", command="/usr/bin/make test") == "allow"
    for line in ("git logs", "git", "git push", "make", "git log /etc"):
        assert bench.verdict("Bash", command=line) == "deny"
    assert bench.verdict("Write", file_path="a") == "deny"


@pytest.mark.parametrize(
    "line",
    [
        *("git push", "git -c a=b log", "git config a.b c", "git", "env ls", "find . -delete"),
        *(
            "eval ls",
            "time ls",
            "PATH=. ls",
            "sed p a",
            "bash a.sh",
            "wl exec b -- ls",
            "cd",
            "cd -P",
        ),
        *(
            "ls -x..",
            "ls --x=..",
            "ls -I/etc",
            "cp -vt.. a",
            "cp -vs a b",
            "ln -s a b",
            "jobs -x ls",
        ),
        *("git cherry-pick --strategy=x/y a", "git revert -s a", "git x/y"),
    ],
)
def test_alone_a_prefix_does_not_allow_what_has_to_be_read_on(bench: Bench, line: str) -> None:
    names = ("git", "ls", "env", "find", "eval", "time", "PATH=.", "sed", "bash", "wl", "cd")
    bench.policy(allow=[f"Bash({name}:*)" for name in (*names, "cp", "ln", "jobs")])
    assert bench.verdict("Bash", command="git status") == "allow"
    assert bench.verdict("Bash", command=line) == "deny"


def test_alone_case_means_nothing_where_the_file_system_has_none(bench: Bench) -> None:
    path = str(bench.workspace / "a").upper()
    assert bench.verdict("Read", file_path=path) == "deny"
    bench.policy(folded=True)
    assert bench.verdict("Read", file_path=path) == "allow"
    bench.policy(folded=True, closed=[str(bench.workspace / "OWN")])
    assert bench.verdict("Read", file_path=str(bench.workspace / "own" / "x")) == "deny"


@pytest.mark.parametrize(
    ("pattern", "tool", "given"),
    [
        ("TodoWrite", "TodoWrite", {}),
        ("Todo*", "TodoWrite", {}),
        ("mcp__a", "mcp__a__b", {}),
        ("Read(secret/**)", "Read", {"file_path": "x/../secret/./key"}),
        ("Read(./secret/key)", "Read", {"file_path": "link/key"}),
        ("Bash(git push:*)", "Bash", {"command": "git  'pu'sh origin"}),
        ("Bash(git push:*)", "Bash", {"command": "git \\\npush"}),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://EXAMPLE.com/x"}),
        ("Read(", "Read", {"file_path": "a"}),
    ],
)
def test_what_is_denied_is_denied_even_with_yolo(
    bench: Bench, pattern: str, tool: str, given: dict[str, Any]
) -> None:
    (bench.workspace / "secret").mkdir()
    (bench.workspace / "link").symlink_to("secret")
    bench.policy(yolo=True)
    assert bench.verdict(tool, **given) == "allow"
    bench.policy(yolo=True, deny=["Unheard", pattern])
    said = bench.ask(tool, **given)
    assert said["permissionDecision"] == "deny"
    assert pattern in said["permissionDecisionReason"]


def test_yolo_allows_the_rest_but_questions(bench: Bench) -> None:
    bench.policy(yolo=True, deny=["WebFetch"])
    assert bench.verdict("Bash", command="rm -rf / ; echo $(x)") == "allow"
    assert bench.verdict("Unheard") == "allow"
    assert bench.verdict("AskUserQuestion") == "deny"
    bench.policy(yolo="yes")
    assert bench.verdict("Unheard") == "deny"


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "nonsense", "null", '{"roots": ["/"], "yolo": true}', "[" * 100_000),
        '{"roots": "/", "closed": "", "allow": "Read", "deny": "", "yolo": false}',
        '{"roots": ["/"], "closed": [7], "allow": ["Read"], "deny": [], "yolo": true}',
        '{"roots": ["/"], "closed": [], "allow": ["Read"], "deny": null, "yolo": true}',
        "\udcff",
    ],
)
def test_a_policy_file_that_cannot_be_read_allows_nothing(bench: Bench, content: str) -> None:
    (bench.place / "policy.json").write_bytes(content.encode(errors="surrogateescape"))
    assert bench.verdict("Read", file_path="a") == "deny"
    assert bench.verdict("TodoWrite") == "deny"


def test_a_missing_policy_file_allows_nothing(bench: Bench) -> None:
    (bench.place / "policy.json").unlink()
    assert bench.verdict("TodoWrite") == "deny"


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b"7", b'"x"', b"not json", b'{"tool_name": "Read"', b"\xff\xfe\x00"),
        *(b"[" * 200_000, b'{"a":' * 200_000, b"{}", b'{"tool_name": 1, "tool_input": 2}'),
        b'{"cwd": "/", "tool_name": "Read", "tool_input": {"file_path": "\\ud800"}}',
        b'{"cwd": "/\\u0000", "tool_name": "Read", "tool_input": {"file_path": "a"}}',
        b'{"cwd": "ws", "tool_name": "Read", "tool_input": {"file_path": "a"}}',
        b'{"cwd": "/", "tool_name": "Read", "tool_input": {"file_path": ' + b"9" * 10_000 + b"}}",
        b'{"cwd": "/", "tool_name": "Bash", "tool_input": ' + b"[" * 900 + b"]" * 900 + b"}",
    ],
)
def test_hostile_input_is_denied_and_recorded(bench: Bench, body: bytes) -> None:
    done = bench.run(body)
    assert (done.returncode, done.stderr) == (0, b"")
    said = json.loads(done.stdout)["hookSpecificOutput"]
    assert (said["hookEventName"], said["permissionDecision"]) == ("PreToolUse", "deny")
    assert json.loads(raw_lines(bench.events)[-1])["event"]["hook_event_name"] == "PolicyDecision"


@pytest.mark.slow
def test_too_large_an_input_is_denied(bench: Bench) -> None:
    bench.policy(yolo=True)
    assert bench.verdict("Write", file_path="a", content="x" * (8 << 20)) == "deny"


def test_a_permission_request_is_answered_in_its_own_form(bench: Bench) -> None:
    said = bench.ask("Read", event="PermissionRequest", file_path="a")
    assert said["decision"] == {"behavior": "allow"}
    said = bench.ask("Unheard", event="PermissionRequest")
    assert said["decision"]["behavior"] == "deny"
    assert "Unheard" in said["decision"]["message"]
    said = json.loads(bench.run(b'{"hook_event_name": "PermissionRequest", garbage').stdout)
    assert said["hookSpecificOutput"]["decision"]["behavior"] == "deny"


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_wrong_arguments_are_a_denial(count: int) -> None:
    done = hook("policy", *["x"] * count, body=b"{}")
    said = json.loads(done.stdout)["hookSpecificOutput"]
    assert (done.returncode, said["permissionDecision"]) == (0, "deny")


def test_events_that_cannot_be_written_do_not_change_what_is_decided(bench: Bench) -> None:
    bench.events.mkdir()
    assert bench.verdict("Read", file_path="a") == "allow"
    assert bench.verdict("Read", file_path="/etc/passwd") == "deny"


def test_without_anywhere_to_answer_it_denies_by_its_exit_code(bench: Bench) -> None:
    paths = [str(bench.place / name) for name in ("events", "wake", "api", "policy.json")]
    argv = [sys.executable, "-I", "-S", str(HOOKS / "policy.py"), *paths]
    body = call("Read", cwd=str(bench.workspace), file_path="a")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            argv, input=body, stdout=full, stderr=subprocess.PIPE, check=False, timeout=20
        )
    assert done.returncode == 2
    assert b"No space left" in done.stderr


def test_a_hook_that_is_not_whole_denies_by_its_exit_code(bench: Bench) -> None:
    alone = bench.place / "policy.py"
    alone.write_bytes((HOOKS / "policy.py").read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(alone)], input=b"{}", capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"decide" in done.stderr


def test_only_built_in_modules_are_loaded_while_the_daemon_answers() -> None:
    code = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]);"
        "import decide; print(*sorted(set(sys.modules) - before))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(HOOKS)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["_socket", "daemon_call", "decide", "errno", "event_record"]


def _filled(bench: Bench, given: dict[str, Any]) -> dict[str, Any]:
    words = {"{ws}": bench.workspace, "{other}": bench.other, "{place}": bench.place}
    text = json.dumps(given)
    for word, path in words.items():
        text = text.replace(word, os.fspath(path))
    filled: dict[str, Any] = json.loads(text)
    return filled


def test_a_path_longer_than_any_can_be_is_denied_and_not_looked_at(tmp_path: Path) -> None:
    """Its accents could take longer to put in order than a hook has; nothing is decided then."""
    rules = {"workspace": str(tmp_path), "boxed": False, "folded": False, "yolo": False}
    lists = {"allow": ["Read"], "deny": [], "roots": [str(tmp_path)], "closed": []}
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({**rules, **lists, "reading": "lists"}))
    path = f"{tmp_path}/a" + "\u0300\u0316" * 300_000
    asked = {"tool_name": "Read", "tool_input": {"file_path": path}, "cwd": str(tmp_path)}
    call = alone.read(json.dumps({"hook_event_name": "PreToolUse", **asked}).encode())
    assert call is not None
    assert b"longer than any can be" in alone.decide(call, str(policy))
