"""Who may call which verb: every door that is open, and what is said at those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from tests.support.replies import ROUTES
from tests.support.serving import Served, served

from windlass.api.shares import MOST_BYTES
from windlass.api.verbs import LARGEST, LARGEST_CALL, Caller, Verb, Wait
from windlass.api.wire.hooks import HookInput
from windlass.api.wire.request import Numbers, Patterns, Place, Whole, Word, Words
from windlass.core.errors import Denied, UserError
from windlass.daemon.kernel.requests import IntentVerb

NOBODY: Any = None
CALLERS = {
    "ack": "both",
    "agents": "both",
    "answer": "both",
    "approve": "person",
    "block": "person",
    "archives": "person",
    "ask": "agent",
    "attachment": "both",
    "candidates": "person",
    "change": "both",
    "change.diff": "both",
    "change.retry": "person",
    "change.undo": "person",
    "change.wait": "both",
    "changes": "both",
    "commit": "both",
    "config": "both",
    "config.add": "person",
    "config.remove": "person",
    "config.set": "person",
    "costs": "both",
    "decide": "agent",
    "denials": "both",
    "diff": "both",
    "doctor": "both",
    "drop": "person",
    "drivers": "both",
    "drivers.trust": "person",
    "drivers.trusted": "person",
    "login.forget": "person",
    "login.keep": "person",
    "login.offer": "person",
    "allow": "person",
    "end": "both",
    "explain.tool": "both",
    "hooks.install": "person",
    "hooks.status": "person",
    "hooks.uninstall": "person",
    "inbox": "both",
    "info": "both",
    "init": "person",
    "init.look": "person",
    "init.prove": "person",
    "interrupt": "both",
    "jobs": "person",
    "gate": "both",
    "gate.run": "person",
    "gate.wait": "person",
    "run": "person",
    "run.pause": "person",
    "run.preview": "person",
    "runs": "both",
    "runs.wait": "person",
    "task": "both",
    "task.drop": "person",
    "task.retry": "person",
    "landings": "both",
    "listen": "person",
    "log": "both",
    "look": "both",
    "mail.wait": "agent",
    "merge": "both",
    "merge-check": "both",
    "message": "both",
    "note": "both",
    "notify": "both",
    "pause": "both",
    "place": "both",
    "plan": "person",
    "plan.stop": "person",
    "plan.wait": "person",
    "primary": "person",
    "prompt": "both",
    "questions": "both",
    "reassign": "both",
    "receipts": "both",
    "refresh": "person",
    "foreign-work": "person",
    "repair": "person",
    "gc": "person",
    "repo.add": "person",
    "repo.remove": "person",
    "repos": "person",
    "roles": "both",
    "resume": "both",
    "retry": "person",
    "send": "both",
    "set-aside": "person",
    "spawn": "both",
    "status": "both",
    "submit": "both",
    "taken": "person",
    "trash": "person",
    "trash.empty": "person",
    "trash.restore": "person",
    "trash.show": "person",
    "trust": "person",
    "trust.accept": "person",
    "trust.revoke": "person",
    "undo": "both",
    "unfinished": "both",
    "uninstall": "person",
    "uninstall.look": "person",
    "whoami": "both",
    "why": "both",
}
ASK = "ask the person"
CONFIGURATION = ("agents do not change configuration", ASK)
LOGIN = ("agents have nothing to do with what they are logged in with", ASK)
TRUST = ("agents do not accept what people are asked", ASK)
HOOKS = ("agents do not install hooks for a person", ASK)
KEPT = ("agents do not look into trash and archive", ASK)
PLAN = ("agents have no task planned", "ask the person: wl plan TASK --agent")
RUN = ("agents do not have the board worked off", "ask the person: wl run")
GATE = (
    "agents do not run the gate itself",
    "run its commands in your workspace: `wl gate` shows them",
)
JUDGED = ("agents do not judge changes", ASK)
SAID = {
    "archives": KEPT,
    "ask": ("questions are asked by agents", "say it to one: wl send AGENT '...'"),
    "config.add": CONFIGURATION,
    "config.remove": CONFIGURATION,
    "config.set": CONFIGURATION,
    "decide": ("only the hooks of an agent ask this", "`wl info` shows what one may use"),
    "drivers.trust": TRUST,
    "drivers.trusted": TRUST,
    "login.forget": LOGIN,
    "login.keep": LOGIN,
    "login.offer": LOGIN,
    "hooks.install": HOOKS,
    "hooks.status": HOOKS,
    "hooks.uninstall": HOOKS,
    "init": ("agents do not set up repositories", ASK),
    "init.look": ("agents do not set up repositories", ASK),
    "init.prove": ("agents do not set up repositories", ASK),
    "jobs": ("agents do not look into the works", ASK),
    "gate.run": GATE,
    "gate.wait": GATE,
    **dict.fromkeys(
        ("run", "run.pause", "run.preview", "runs.wait", "task.drop", "task.retry"), RUN
    ),
    **dict.fromkeys(("plan", "plan.stop", "plan.wait"), PLAN),
    "listen": (
        "notices are for the person, and agents do not listen for them",
        "end your turn with WAITING: what is said to you comes by itself",
    ),
    "mail.wait": ("only the hooks of an agent ask this", "`wl inbox` shows your mail"),
    "primary": ("only the person's own session asks this", "`wl list` shows the crew"),
    "gc": ("agents do not decide for how long things are kept", ASK),
    "refresh": (
        "agents do not rebase agents",
        "merge what you need into your own branch: git merge",
    ),
    "foreign-work": ("agents do not keep what other tools left", ASK),
    "repair": ("agents do not decide what becomes of orphans", ASK),
    "repo.add": ("agents do not add repositories", ASK),
    "repo.remove": ("agents do not remove repositories", ASK),
    "repos": ("agents do not list repositories", ASK),
    "uninstall": ("agents do not uninstall Windlass", ASK),
    "uninstall.look": ("agents do not uninstall Windlass", ASK),
    "allow": ("agents allow nothing, to themselves or to others", "ask with `wl ask`"),
    "retry": ("agents do not decide what becomes of what no daemon survived", ASK),
    "set-aside": KEPT,
    "approve": JUDGED,
    "candidates": ("agents do not look through the person's branches", "wl merge names its own"),
    "block": JUDGED,
    "change.retry": JUDGED,
    "change.undo": JUDGED,
    "drop": JUDGED,
    "taken": ("notices are for the person", "agents do not take them"),
    "trash": KEPT,
    "trash.empty": ("agents do not empty the trash", ASK),
    "trash.restore": ("agents do not restore from the trash", ASK),
    "trash.show": KEPT,
    "trust": TRUST,
    "trust.accept": TRUST,
    "trust.revoke": TRUST,
}
OTHER = {"person": "agent", "agent": "person"}


class Watched:
    """The routes of the daemon, with an answer behind each that only notes who came through."""

    def __init__(self) -> None:
        self.came: list[tuple[str, str]] = []

    def table(self) -> dict[str, Verb | Wait]:
        """Every verb as it is declared; only what answers it is ours."""
        return {name: self._watched(name, verb) for name, verb in ROUTES.items()}

    def _watched(self, name: str, verb: Verb | Wait) -> Verb | Wait:
        def note(caller: Caller, _request: Any) -> str:
            self.came.append((caller.kind, name))
            return "let in"

        async def note_on_the_loop(caller: Caller, request: Any) -> str:
            return note(caller, request)

        if isinstance(verb, Wait):
            return verb._replace(request=dict[str, Any], answer=note_on_the_loop)
        return verb._replace(request=dict[str, Any], answer=note)


@pytest.fixture(scope="module")
def watched() -> Watched:
    """What notes who came through."""
    return Watched()


@pytest.fixture(scope="module")
def doors(watched: Watched) -> Iterator[Served]:
    """Both sockets of a server with the routes of the daemon."""
    with served(watched.table()) as made:
        yield made


def test_the_callers_of_every_verb_are_those_written_down_here() -> None:
    assert {name: verb.callers for name, verb in ROUTES.items()} == CALLERS


def test_a_verb_that_says_nothing_of_callers_is_the_persons_alone() -> None:
    for made in (Verb(dict, dict, NOBODY), Wait(dict, dict, NOBODY)):
        assert made.callers == "person"
        with served({"new": made}) as new, pytest.raises(Denied, match="agents do not do this"):
            new.ask("agent", "new", {})


@pytest.mark.parametrize("name", [name for name, who in CALLERS.items() if who != "both"])
def test_the_other_kind_of_caller_is_refused_before_the_verb_runs(
    doors: Served, watched: Watched, name: str
) -> None:
    kind = CALLERS[name]
    before = list(watched.came)
    with pytest.raises(Denied) as refused:
        doors.ask(OTHER[kind], name, {})
    assert (refused.value.message, refused.value.hint) == SAID[name]
    assert watched.came == before
    assert doors.ask(kind, name, {}) == "let in"
    assert watched.came == [*before, (kind, name)]


@pytest.mark.parametrize("name", [name for name, who in CALLERS.items() if who == "both"])
def test_what_is_open_to_both_lets_both_in(doors: Served, watched: Watched, name: str) -> None:
    before = list(watched.came)
    for kind in ("person", "agent"):
        assert doors.ask(kind, name, {}) == "let in"
    assert watched.came == [*before, ("person", name), ("agent", name)]


def test_a_closed_door_comes_before_what_is_wrong_with_the_request(doors: Served) -> None:
    large = {"config_key": "x" * (20 << 20)}
    with served(ROUTES) as real, pytest.raises(Denied):
        real.ask("agent", "config.set", {"config_key": 7})
    with pytest.raises(Denied):
        doors.ask("agent", "config.set", large)


@pytest.mark.parametrize("name", ROUTES)
def test_what_answers_a_verb_takes_and_gives_the_types_that_its_route_declares(name: str) -> None:
    verb = ROUTES[name]
    begin, result = answering(verb.answer)
    taken = [kind for key, kind in get_type_hints(begin).items() if key.endswith("request")]
    assert verb.request in taken or verb.request in get_args(taken[0])
    assert get_type_hints(result)["return"] == verb.reply


def whole_numbers(kind: Any) -> Iterator[Any]:
    """Every type of whole numbers in a type, as far as it says more than that it is one."""
    if kind is int or (get_origin(kind) is Annotated and get_args(kind)[0] is int):
        yield kind
        return
    for part in get_args(kind):
        yield from whole_numbers(part)


NUMBERS = [
    (name, field, kind)
    for name, verb in ROUTES.items()
    for field, hint in get_type_hints(verb.request, include_extras=True).items()
    for kind in whole_numbers(hint)
]


def test_every_whole_number_of_a_request_is_one_that_the_store_can_hold() -> None:
    assert ("log", "after", Whole) in NUMBERS
    assert [number for number in NUMBERS if number[2] != Whole] == []


def lists(kind: Any) -> Iterator[Any]:
    """Every type of lists in a type, as far as it says more than that it is one."""
    if get_origin(kind) is list or (
        get_origin(kind) is Annotated and get_origin(get_args(kind)[0]) is list
    ):
        yield kind
        return
    for part in get_args(kind):
        yield from lists(part)


LISTS = [
    (name, field, kind)
    for name, verb in ROUTES.items()
    for field, hint in get_type_hints(verb.request, include_extras=True).items()
    for kind in lists(hint)
]


def test_every_list_of_a_request_has_an_end() -> None:
    assert ("receipts", "messages", Words) in LISTS
    assert [listed for listed in LISTS if listed[2] not in (Words, Numbers, Patterns)] == []


@pytest.mark.parametrize("messages", [["m"] * 1001, ["m" * 1025]])
def test_more_ids_than_anybody_names_are_refused(messages: list[str]) -> None:
    with served(ROUTES) as real, pytest.raises(UserError, match=r"malformed request.*messages"):
        real.ask("agent", "receipts", {"messages": messages, "timeout": 60})


def test_hooks_may_tell_of_larger_calls_than_anybody_else_says() -> None:
    larger = {name for name, verb in ROUTES.items() if verb.largest != LARGEST}
    assert larger == {"decide", "explain.tool", "primary"}
    assert max(verb.largest for verb in ROUTES.values()) == LARGEST_CALL <= MOST_BYTES


@pytest.mark.parametrize("number", [10**30, 1 << 63, -1, -(10**30)])
@pytest.mark.parametrize("field", ["after", "last"])
def test_a_number_that_makes_no_sense_is_refused_as_such(field: str, number: int) -> None:
    with served(ROUTES) as real, pytest.raises(UserError, match=rf"malformed request.*{field}"):
        real.ask("person", "log", {field: number})


def endless(kind: Any) -> Iterator[Any]:
    """Every type of texts and lists in a type that takes any length."""
    if get_origin(kind) is Annotated:
        inner, *limits = get_args(kind)
        if not any(getattr(limit, "max_length", None) for limit in limits):
            yield from endless(inner)
        elif get_origin(inner) is list:
            yield from endless(get_args(inner)[0])
        return
    if kind is str or kind is bytes or get_origin(kind) in (list, dict):
        yield kind
        return
    if get_origin(kind) is Literal:
        return
    for part in get_args(kind):
        yield from endless(part)


TEXTS = [
    (name, field)
    for name, verb in ROUTES.items()
    if verb.callers != "person" and verb.request is not HookInput
    for field, hint in get_type_hints(verb.request, include_extras=True).items()
    for _ in endless(hint)
]


def test_all_that_agents_may_say_in_a_request_has_an_end() -> None:
    """But for hook inputs, of which nothing is kept and no type is trusted."""
    assert set(TEXTS) <= {("receipts", "messages")}


@pytest.mark.parametrize(
    ("verb", "request_"),
    [
        ("note", {"text": "x" * 100_001}),
        ("note", {"text": "x", "key": "k" * 1_001}),
        ("send", {"agent": "a", "text": "x" * 100_001}),
        ("send", {"agent": "a," * 30_000, "text": "x"}),
        ("send", {"agent": "a", "text": "x", "topic": "t" * 1_001}),
        ("ask", {"text": "x" * 100_001}),
        ("answer", {"question": "q", "text": "x" * 100_001}),
        ("notify", {"text": "x" * 100_001}),
        ("spawn", {"goal": "x" * 1_000_001}),
        ("spawn", {"goal": "x", "deny": ["Bash"] * 201}),
        ("spawn", {"goal": "x", "allow": ["B" * 1_001]}),
        ("spawn", {"goal": "x", "script": "s", "script_text": "x" * 1_000_001}),
        ("end", {"agents": ["a"] * 1_001}),
        ("ack", {"messages": ["m"] * 1_001}),
    ],
)
def test_what_has_no_end_is_refused_before_the_verb_runs(
    verb: str, request_: dict[str, Any]
) -> None:
    watched = Watched()
    table = {
        name: made._replace(request=ROUTES[name].request) for name, made in watched.table().items()
    }
    with served(table) as real, pytest.raises(UserError, match=r"malformed request.*length <="):
        real.ask("agent", verb, request_)
    assert watched.came == []


NAMES = [
    (name, field, hint)
    for name, verb in ROUTES.items()
    if verb.request is not HookInput
    for field, hint in get_type_hints(verb.request, include_extras=True).items()
    if any(str(part) in str(hint) for part in (Word, Place))
]


def test_a_name_with_a_character_that_no_name_has_is_the_callers_fault() -> None:
    assert {("merge", "into"), ("merge-check", "into"), ("place", "cwd"), ("end", "agents")} <= {
        (name, field) for name, field, _ in NAMES
    }
    with served(ROUTES) as real:
        for name, field, hint in NAMES:
            who = "agent" if ROUTES[name].callers == "agent" else "person"
            is_list = any(str(part) in str(hint) for part in (Words, Patterns))
            value = ["main\0x"] if is_list else "main\0x"
            with pytest.raises(UserError, match=rf"a name without a NUL.*`\$\.{field}"):
                real.ask(who, name, {field: value})


def answering(answer: Any) -> tuple[Any, Any]:
    """What takes the request, and what gives the reply: of an operation these are two."""
    if isinstance(answer, IntentVerb):
        operation = answer.intents._operations[answer.kind]  # noqa: SLF001 - nobody else asks
        return plain(answer.begin), plain(operation.result)
    return plain(answer), plain(answer)


def plain(function: Any) -> Any:
    """The function behind what was given some of its arguments."""
    return function.func if isinstance(function, partial) else function
