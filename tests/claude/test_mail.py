"""Mail to the real Claude Code: every message once, whole, in order, with a receipt that is true.

What arrived is counted in the conversation itself, and in what the model was sent; nothing of ours
is asked about that but the receipt, which has to agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.ground import Ground, until
from tests.support.scene import Scene, scene

from windlass.api import client
from windlass.model.log import Request

pytestmark = pytest.mark.slow
REST = {"text": "I rest.\n\nWAITING"}
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
OPTIONS = [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cool"}]
QUESTION = {"question": "Which colour?", "header": "Colour", "multiSelect": False}
ASK = {"tool": "AskUserQuestion", "input": {"questions": [{**QUESTION, "options": OPTIONS}]}}
DRAFT = "dear fox, I was about to"
_SHOWN = {"queued_command": "prompt", "hook_additional_context": "content"}
_PLACE = re.compile(r"\[message (msg-[0-9a-f]{10})\]")
_KEYS = "Enter C-c C-d Escape 'single' \"double\" `back` $HOME \\ \\n !ls /exit #note"
_CONTROLS = "".join(map(chr, (*range(1, 32), *range(127, 160))))
HOSTILE = "\n".join(
    (
        "Enter",
        "C-c",
        _KEYS,
        f"controls <{_CONTROLS}> end",
        "emoji 😀👩‍👩‍👧 ẞ 漢字 \u202e rtl",
        "Enter\r\n",
    )
)
BIG = (HOSTILE + "\n" + "0123456789 Enter C-c\n" * 2000)[:20_000] + "the very end"


@pytest.fixture
def many(unboxed: Ground) -> Iterator[Scene]:
    """A ground for many agents: boxes are left out, which cost time."""
    with scene(unboxed, "claude") as made:
        yield made


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def until_there(name: str) -> dict[str, Any]:
    """An entry that says that it works, and does so until a file is in the workspace."""
    return bash(f"touch {name}.begun; until [ -e {name} ]; do sleep 0.05; done")


def works(workspace: Path, name: str) -> None:
    """Waits until such an entry works: whatever its call brought along is behind it."""
    until((workspace / f"{name}.begun").exists, what=f"{name} to begin")


def send(on: Scene, text: str, *, to: str = "fox", **more: Any) -> str:
    """Sends as the person does; returns the message's id."""
    (one,) = on.ground.ask("send", agent=to, text=text, **more)["messages"]
    return str(one["id"])


def receipt(on: Scene, message: str) -> dict[str, Any]:
    """What is known of a message."""
    found: dict[str, Any] = on.ground.ask("message", message=message)
    return found


def has_read(on: Scene, message: str, *routes: str) -> None:
    """Waits until a message was read; its receipt says which way it came, and when."""
    until(lambda: receipt(on, message)["state"] == "read", what=f"{message} read")
    found = receipt(on, message)
    assert found["route"] in routes, found
    assert found["created_at"] <= found["delivered_at"] <= found["read_at"]


def conversation(on: Scene, name: str) -> list[dict[str, Any]]:
    """An agent's transcript; only newlines end its lines, whatever else is in them."""
    path = Path(on.ground.ask("info", agent=name)["transcript"])
    return [_line(line) for line in path.read_bytes().split(b"\n")[:-1]]


def _line(line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return {"type": "torn"}  # by a kill; Claude Code leaves it out as well
    return found


def shown(on: Scene, name: str = "fox") -> list[str]:
    """What an agent was shown by others, in order: prompts, and what came between two calls."""
    found: list[Any] = []
    for line in conversation(on, name):
        held = line.get("attachment", {})
        if line["type"] == "user":
            found += _listed(line["message"]["content"])
        elif line["type"] == "attachment" and held["type"] in _SHOWN:
            found += _listed(held[_SHOWN[held["type"]]])
    parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in found]
    return [str(part["text"]) for part in parts if part["type"] == "text"]


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def arrived(on: Scene, name: str = "fox") -> list[str]:
    """The ids of the messages in a conversation, in order, as often as they are in it."""
    return [one for text in shown(on, name) for one in _PLACE.findall(text)]


def asked(on: Scene, name: str = "fox") -> list[str]:
    """The ids of the messages that the model was sent, in order, as often as it was."""
    session = on.ground.ask("info", agent=name)["conversation"]
    return [
        one
        for request in on.model.requests
        if request.session == session and not request.again and request.kind == "main"
        for text in (*request.texts, *request.contexts)
        for one in _PLACE.findall(text)
    ]


def sent_to_model(on: Scene, message: str) -> str:
    """The text with which a message came to the model."""
    (found,) = [
        text
        for request in on.model.requests
        for text in (*request.texts, *request.contexts)
        if not request.again and f"[message {message}]" in text
    ]
    return found


def whole(body: str, message: str) -> str:
    """How a message of the person reads."""
    return f"[sent by user]: {body}\n\n[message {message}]"


def tmux(on: Scene, command: str, *args: str) -> None:
    """Does something to an agent's terminal that only a person would."""
    session = on.ground.ask("info", agent="fox")["tmux"]
    assert on.ground.tmux(command, "-t", f"={session}:0.0", *args).returncode == 0


def screen(on: Scene) -> str:
    """What an agent's terminal shows."""
    return str(on.ground.ask("look", agent="fox")["screen"])


def calls(on: Scene) -> list[str]:
    """The tools that the model has called so far."""
    return [one.tool for one in on.model.requests if one.tool]


def agent_socket(on: Scene, name: str) -> str:
    """The socket on which the caller is that agent."""
    uid = on.ground.ask("info", agent=name)["uid"]
    (found,) = on.ground.runtime.glob(f"windlass/*/{uid[:8]}/api")
    return str(found)


def person_socket(on: Scene) -> str:
    """The socket on which the caller is the person."""
    (found,) = on.ground.runtime.glob("windlass/*/person.sock")
    return str(found)


def _carries(request: Request) -> bool:
    return any(_PLACE.search(text) for text in (*request.texts, *request.contexts))


def waiting_hooks(on: Scene) -> set[int]:
    """The processes of an agent's session that wait for mail."""
    socket = agent_socket(on, "fox")
    found = psutil.process_iter(["cmdline"])
    return {one.pid for one in found if _waits(one.info["cmdline"] or [], socket)}


def _waits(argv: list[str], socket: str) -> bool:
    return socket in argv and any(word.endswith("/rewake.py") for word in argv)


def test_an_idle_agent_gets_messages_whole_and_a_draft_in_its_prompt_stays(on: Scene) -> None:
    on.new("fox", REST)
    on.wait("fox", "waiting")
    first = send(on, "hello fox")
    has_read(on, first, "rewake")
    on.wait("fox", "waiting")
    tmux(on, "send-keys", "-l", DRAFT)
    until(lambda: DRAFT in screen(on), what="the draft")
    big = send(on, BIG)
    has_read(on, big, "rewake")
    on.wait("fox", "waiting")
    assert DRAFT in screen(on)
    assert arrived(on) == asked(on) == [first, big]
    assert whole("hello fox", first) in sent_to_model(on, first)
    assert whole(BIG, big) in sent_to_model(on, big)
    tmux(on, "send-keys", "-l", " thank you")
    tmux(on, "send-keys", "Enter")
    until(lambda: f"{DRAFT} thank you" in shown(on), what="the draft, sent by the person")


def test_a_busy_agent_gets_messages_between_two_calls(on: Scene) -> None:
    waits = [until_there(name) for name in ("one", "two", "three")]
    workspace = on.new("fox", *waits, bash("true"), DONE)
    works(workspace, "one")
    big = send(on, BIG)
    # Its hook has ended and the program has put it into its queue, which it writes down.
    path = Path(on.ground.ask("info", agent="fox")["transcript"])
    until(lambda: big in path.read_text(), what="the big one in the queue")
    (workspace / "one").touch()
    has_read(on, big, "rewake")
    works(workspace, "two")
    # No hook waits any more before the turn is over: what follows goes with the next call.
    small = send(on, "soon")
    (workspace / "two").touch()
    works(workspace, "three")
    assert receipt(on, small)["under_way"]
    (workspace / "three").touch()
    has_read(on, small, "context")
    on.wait("fox", "complete")
    assert arrived(on) == asked(on) == [big, small]
    assert whole("soon", small) in sent_to_model(on, small)
    assert whole(BIG, big) in sent_to_model(on, big)
    # With the results of calls, before the answer that ends the turn: no turn of their own.
    came = [one for one in on.model.requests if one.kind == "main" and _carries(one)]
    assert [bool(one.results) for one in came] == [True, True]
    assert [one.tool for one in came] == ["Bash", "Bash"]
    assert [one.tool for one in on.model.requests if one.kind == "main"].count("") == 1


def test_a_dialog_is_left_alone_and_the_message_comes_once_it_is_answered(on: Scene) -> None:
    on.new("fox", ASK, DONE, flags=["--allow-tools", "AskUserQuestion"])
    on.wait("fox", "asking")
    until(lambda: "\u276f 1. red" in screen(on), what="the dialog")
    first = send(on, "1")
    second = send(on, "Enter\n\n")
    until(lambda: receipt(on, first)["under_way"], what="the message on its way")
    assert "\u276f 1. red" in screen(on)
    assert receipt(on, first)["state"] == receipt(on, second)["state"] == "queued"
    assert arrived(on) == []
    tmux(on, "send-keys", "Down")
    until(lambda: "\u276f 2. blue" in screen(on), what="blue to be chosen")
    tmux(on, "send-keys", "Enter")
    has_read(on, first, "rewake", "context")
    has_read(on, second, "rewake", "context")
    assert arrived(on) == asked(on) == [first, second]
    (answer,) = [result.text for one in on.model.requests for result in one.results]
    assert "blue" in answer


def test_a_stopped_agent_gets_its_mail_when_somebody_wakes_it(on: Scene) -> None:
    on.new("fox", REST)
    on.wait("fox", "waiting")
    psutil.Process(on.pid("fox")).terminate()
    on.wait("fox", "stopped")
    first = send(on, "for later")
    told = on.wl("send", "fox", "not yet", "--json").ok().json()
    assert "wl resume fox" in told[0]["note"]
    assert receipt(on, first)["state"] == "queued"
    last = send(on, BIG, wake=True)
    has_read(on, last, "rewake", "paste")
    assert arrived(on) == asked(on) == [first, told[0]["id"], last]
    assert whole(BIG, last) in sent_to_model(on, last)


def test_fifty_at_once_from_ten_senders_come_once_and_in_the_order_of_each(
    many: Scene,
) -> None:
    names = [f"mouse{number}" for number in range(9)]
    many.new("fox", REST)
    for name in names:
        many.ground.new(name, {"text": "WAITING"}, flags=["--print"])
    many.wait("fox", "waiting")
    sockets = [*(agent_socket(many, name) for name in names), person_socket(many)]

    def five(sender: int) -> list[str]:
        told = {"cwd": str(many.ground.folder / "repo"), "agent": "fox"}
        texts = [f"{sender}-{number} {'x' * 700}" for number in range(5)]
        answers = [client.ask("send", {**told, "text": t}, path=sockets[sender]) for t in texts]
        return [str(answer["messages"][0]["id"]) for answer in answers]

    with ThreadPoolExecutor(10) as pool:
        sent = list(pool.map(five, range(10)))
    for message in (one for each in sent for one in each):
        has_read(many, message, "rewake", "context")
    there = arrived(many)
    assert sorted(there) == sorted(one for each in sent for one in each)
    assert asked(many) == there
    assert all([one for one in there if one in each] == each for each in sent)
    said = "\n".join(shown(many))
    for sender, who in enumerate([*(f"agent {name}" for name in names), "user"]):
        for number, message in enumerate(sent[sender]):
            text = f"{sender}-{number} {'x' * 700}"
            assert f"[sent by {who}]: {text}\n\n[message {message}]" in said


def test_where_no_hook_waits_a_message_is_typed_but_never_into_a_draft(on: Scene) -> None:
    working = [{"match": "work", "turns": [bash("sleep 600")]}]
    workspace = on.new("fox", until_there("go"), REST, on=working)
    works(workspace, "go")
    from_start = waiting_hooks(on)
    (workspace / "go").touch()
    on.wait("fox", "waiting")
    until(lambda: bool(waiting_hooks(on) - from_start), what="the hook of the turn's end")
    until(lambda: not waiting_hooks(on) & from_start, what="the end of the one before")
    has_read(on, send(on, "work"), "rewake")
    until(lambda: not waiting_hooks(on), what="every waiting hook to be used up")
    on.wl("interrupt", "fox").ok()
    on.wait("fox", "waiting")
    tmux(on, "send-keys", "-l", DRAFT)
    until(lambda: DRAFT in screen(on), what="the draft")
    waits = send(on, "are you there?")
    until(lambda: receipt(on, waits)["age"] > 4, what="longer than typing would take")
    assert (receipt(on, waits)["state"], receipt(on, waits)["under_way"]) == ("queued", False)
    assert DRAFT in screen(on)
    tmux(on, "send-keys", "C-u")
    has_read(on, waits, "paste")
    assert arrived(on)[-1] == asked(on)[-1] == waits
    assert whole("are you there?", waits) in sent_to_model(on, waits)


def test_a_headless_agent_gets_messages_whole_whether_it_rests_or_works(on: Scene) -> None:
    working = [{"match": "work", "turns": [until_there("go"), bash("true"), DONE]}]
    workspace = on.new("fox", REST, on=working, flags=["--print"])
    on.wait("fox", "waiting")
    sent = [send(on, BIG)]
    has_read(on, sent[-1], "stdin")
    on.wait("fox", "waiting")
    sent.append(send(on, "work"))
    until(lambda: "Bash" in calls(on), what="the call")
    sent += [send(on, "soon"), send(on, BIG + "!")]
    (workspace / "go").touch()
    for message in sent:
        has_read(on, message, "stdin")
    assert arrived(on) == asked(on) == sent
    for body, message in zip((BIG, "work", "soon", BIG + "!"), sent, strict=True):
        assert whole(body, message) in sent_to_model(on, message)
