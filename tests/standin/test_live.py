from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import pytest
from tests.standin.rig import AWAIT, POINTER, SESSION, Rig, Terminal, bash, text, write
from tests.standin.test_hooks import KEYS

OPEN = ("--permission-mode", "default", "--allowedTools", "Bash,Write")
Start = Callable[..., Terminal]


def test_a_prompt_is_answered_and_the_screen_says_idle_again(rig: Rig, terminal: Start) -> None:
    session = terminal(
        *OPEN, "--script", rig.script([text("hello"), bash("echo out"), text("bye")])
    )
    session.expect("Stand-in agent")
    session.expect_idle()
    session.say("go")
    session.expect(f"{POINTER} go")
    session.expect("esc to interrupt")
    session.expect("● hello")
    session.expect("● Bash(echo out)")
    session.expect("⎿  out")
    session.expect("● bye")
    session.expect("✻ Worked for")
    session.expect_idle()
    assert "esc to interrupt" not in session.block()
    session.say("/exit")
    session.expect(f"--resume {SESSION}")
    assert session.wait() == 0
    assert rig.event("SessionEnd")["reason"] == "prompt_input_exit"


def test_a_prompt_on_the_command_line_is_played_at_once(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([{"thinking": "hm"}, text("hi")]), "--", "go")
    session.expect(f"{POINTER} go")
    session.expect("Thought for")
    session.expect("● hi")
    session.expect_idle()


@pytest.mark.parametrize("keys", ["\x04", "\x03\x03", "/exit\r", "exit\r"])
def test_a_person_leaves(rig: Rig, terminal: Start, keys: str) -> None:
    session = terminal("--script", rig.script([text("hi")]))
    session.expect_idle()
    session.type(keys)
    assert session.wait() == 0
    assert rig.event_names()[-1] == "SessionEnd"


def test_one_ctrl_c_only_clears_the_draft(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([text("got ${MESSAGE}!")]))
    session.expect_idle()
    session.type("junk")
    session.expect(f"{POINTER} junk")
    session.type("\x03")
    session.expect("Press Ctrl-C again to exit")
    session.say("go")
    session.expect("● got go!")


def test_the_dialog_waits_for_a_key(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([bash("touch x"), write("y", ""), text("end")]))
    session.expect_idle()
    session.say("go")
    session.expect("Do you want to proceed?")
    assert "1. Yes" in session.block()
    assert "esc to interrupt" not in session.block()
    assert not (rig.workspace / "x").exists()
    request = rig.event("PermissionRequest")
    assert set(request) == KEYS["PermissionRequest"]
    session.type("1")
    session.expect("Do you want to create y?")
    session.type("\r")
    session.expect("● end")
    session.expect_idle()
    assert (rig.workspace / "x").exists()
    assert (rig.workspace / "y").exists()


@pytest.mark.parametrize("key", ["\x1b", "3", "\x1b[A\r"])
def test_a_no_in_the_dialog_ends_the_turn(rig: Rig, terminal: Start, key: str) -> None:
    session = terminal("--script", rig.script([bash("touch x"), text("after")]))
    session.expect_idle()
    session.say("go")
    session.expect("Do you want to proceed?")
    session.type(key)
    session.expect("Interrupted")
    session.expect_idle()
    assert not (rig.workspace / "x").exists()
    assert "Stop" not in rig.event_names()
    session.say("go on")
    session.expect("● after")


def test_yes_for_the_session_asks_once(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([bash("true"), bash("touch x"), text("end")]))
    session.expect_idle()
    session.say("go")
    session.expect("Do you want to proceed?")
    session.type("2")
    session.expect("● end")
    assert (rig.workspace / "x").exists()


@pytest.mark.parametrize("behavior", ["allow", "deny"])
def test_a_permission_hook_answers_instead(rig: Rig, terminal: Start, behavior: str) -> None:
    decision = {"behavior": behavior, "message": "said the hook"}
    fields = {"hookEventName": "PermissionRequest", "decision": decision}
    rig.answer("PermissionRequest", {"hookSpecificOutput": fields})
    session = terminal("--script", rig.script([bash("touch x"), text("end")]))
    session.expect_idle()
    session.say("go")
    session.expect("● end")
    assert "Do you want to proceed?" not in session.drawn()
    assert (rig.workspace / "x").exists() is (behavior == "allow")


def test_what_is_typed_while_busy_is_queued_and_taken_between_tools(
    rig: Rig, terminal: Start
) -> None:
    os.mkfifo(rig.workspace / "fifo")
    script = rig.script(
        [bash("cat fifo"), bash("echo two >> log"), text("end")],
        [{"match": "hurry", "turns": [bash("echo hurried >> log")]}],
    )
    session = terminal(*OPEN, "--script", script)
    session.expect_idle()
    session.say("go")
    session.expect("Running…")
    session.say("please hurry")
    session.expect(f"{POINTER} please hurry")
    session.expect("Press up to edit queued messages")
    (rig.workspace / "fifo").write_text("")
    session.expect("● end")
    session.expect_idle()
    assert (rig.workspace / "log").read_text() == "hurried\ntwo\n"


def test_a_queued_message_comes_back_for_editing(rig: Rig, terminal: Start) -> None:
    os.mkfifo(rig.workspace / "fifo")
    session = terminal(*OPEN, "--script", rig.script([bash("cat fifo"), text("end")]))
    session.expect_idle()
    session.say("go")
    session.expect("Running…")
    session.say("wait")
    session.expect("Press up")
    session.type("\x1b[A")
    session.expect(f"{POINTER} wait")
    session.type("\x15")
    (rig.workspace / "fifo").write_text("")
    session.expect("● end")


def test_escape_interrupts_and_the_next_message_goes_on(rig: Rig, terminal: Start) -> None:
    session = terminal(*OPEN, "--script", rig.script([bash("sleep 60"), text("after")]))
    session.expect_idle()
    session.say("go")
    session.expect("Running…")
    session.type("\x1b")
    session.expect("⎿  Interrupted · What should Claude do instead?")
    session.expect_idle()
    assert rig.event_names() == ["SessionStart", "UserPromptSubmit", "PreToolUse"]
    told = rig.lines()[-1]["message"]["content"][0]["text"]
    assert told == "[Request interrupted by user for tool use]"
    session.say("well?")
    session.expect("● after")


def test_escape_after_words_interrupts_without_a_tool(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([text("words"), {"pause": 60}, text("after")]))
    session.expect_idle()
    session.say("go")
    session.expect("● words")
    session.type("\x1b")
    session.expect("⎿  Interrupted · What should Claude do instead?")
    session.expect_idle()
    assert rig.lines()[-1]["message"]["content"][0]["text"] == "[Request interrupted by user]"
    assert f"{POINTER} go" not in session.block()


@pytest.mark.parametrize(
    ("words", "wishes"), [("/compact", None), ("/compact be brief", "be brief")]
)
def test_compacting_shows_and_fires_its_hooks_and_is_idle_again(
    rig: Rig, terminal: Start, words: str, wishes: str | None
) -> None:
    session = terminal("--script", rig.script([text("a"), AWAIT, text("b")]), "--", "go")
    session.expect("● a")
    session.expect_idle()
    before = len(rig.events())
    session.say(words)
    session.expect("Compacting conversation…")
    session.expect("Compacted")
    session.expect_idle()
    pre, started, post = rig.events()[before:]
    names = [event["hook_event_name"] for event in (pre, started, post)]
    assert names == ["PreCompact", "SessionStart", "PostCompact"]
    assert set(pre) == KEYS["PreCompact"]
    assert (pre["trigger"], pre["custom_instructions"]) == ("manual", wishes)
    assert set(started) == KEYS["SessionStart"] | {"prompt_id"}
    assert started["source"] == "compact"
    assert set(post) == KEYS["PostCompact"]
    session.say("on")
    session.expect("● b")


def test_nothing_said_is_nothing_to_compact(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([text("a")]))
    session.expect_idle()
    session.say("/compact")
    session.expect("Not enough messages to compact.")
    session.expect_idle()
    assert rig.event_names() == ["SessionStart", "PreCompact"]


def test_compacting_waits_for_the_end_of_the_turn(rig: Rig, terminal: Start) -> None:
    os.mkfifo(rig.workspace / "fifo")
    session = terminal(*OPEN, "--script", rig.script([bash("cat fifo"), text("end")]), "--", "go")
    session.expect("Running…")
    session.say("/compact")
    session.expect("Press up to edit queued messages")
    (rig.workspace / "fifo").write_text("")
    session.expect("● end")
    session.expect("Compacted")
    assert rig.event_names()[-4:] == ["Stop", "PreCompact", "SessionStart", "PostCompact"]


def test_escape_before_the_first_answer_puts_the_prompt_back(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([{"pause": 60}, text("never")]))
    session.expect_idle()
    session.say("try this")
    session.expect("esc to interrupt")
    session.type("\x1b")
    session.expect_idle()
    assert f"{POINTER} try this" in session.block()


def test_a_paste_arrives_whole(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([text("ok")]))
    session.expect_idle()
    body = "one\r\ntwo\x07\x1b[31m\rthree\tü — 漢字\nfour\nfive"
    session.paste(body)
    session.expect("[Pasted text #1 +4 lines]")
    session.type(" and more\r")
    session.expect("● ok")
    prompt = rig.event("UserPromptSubmit")["prompt"]
    assert prompt == "one\ntwo[31m\nthree\tü — 漢字\nfour\nfive and more"


def test_a_short_paste_is_shown_and_waits_for_enter(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([text("ok")]))
    session.expect_idle()
    session.paste("one\ntwo")
    session.expect("two")
    assert rig.event_names() == ["SessionStart"]
    session.type("\r")
    session.expect("● ok")
    assert rig.event("UserPromptSubmit")["prompt"] == "one\ntwo"


def test_a_long_paste_in_pieces_arrives_whole(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([text("ok")]))
    session.expect_idle()
    body = "\n".join(f"line {n} {'x' * 60} ü" for n in range(400))
    data = f"\x1b[200~{body}\x1b[201~"
    for start in range(0, len(data), 997):
        session.type(data[start : start + 997])
    session.expect("[Pasted text #1 +399 lines]")
    session.type("\r")
    session.expect("● ok")
    assert rig.event("UserPromptSubmit")["prompt"] == body


def test_output_cannot_move_the_cursor(rig: Rig, terminal: Start) -> None:
    command = "printf 'a\\033[2Jb\\033]0;evil\\007c\\n'"
    session = terminal(*OPEN, "--script", rig.script([bash(command), text("x\x1b[5Ay")]))
    session.expect_idle()
    session.say("go")
    session.expect("● xy")
    assert "evil\x07" not in session._raw  # noqa: SLF001 - the bytes are what matters
    assert "a\x1b[2J" not in session._raw  # noqa: SLF001 - as above


def test_a_small_terminal_and_a_resize_are_no_trouble(rig: Rig, terminal: Start) -> None:
    words = "many words that need more than one line on such a small screen " * 3
    session = terminal("--script", rig.script([text(words), AWAIT]), columns=60, lines=20)
    session.expect_idle()
    session.say("go")
    session.expect("● many words")
    session.expect_idle()
    assert "─" * 60 in session.block()
    assert "─" * 61 not in session.block()
    session.resize(44, 12)
    session.expect("─" * 44)
    session.expect_idle()
    assert "─" * 45 not in session.block()
    session.say("more")
    session.expect("Noted.")


def test_an_api_error_is_shown_and_the_session_stays(rig: Rig, terminal: Start) -> None:
    script = rig.script([{"error": {"status": 529, "retry_after": 0.1}}, text("back")])
    session = terminal("--script", script)
    session.expect_idle()
    session.say("go")
    session.expect("Retrying in")
    session.expect("● API Error: Repeated 529 Overloaded errors")
    session.expect_idle()
    assert "StopFailure" in rig.event_names()
    session.say("again")
    session.expect("● back")


def test_background_commands_show_and_wake(rig: Rig, terminal: Start) -> None:
    os.mkfifo(rig.workspace / "fifo")
    turns = [bash("cat fifo; exit 3", run_in_background=True), text("listening")]
    script = rig.script(turns, [{"match": "exit code 3", "turns": [text("woken")]}])
    session = terminal(*OPEN, "--script", script)
    session.expect_idle()
    session.say("go")
    session.expect("Running in the background")
    session.expect("1 shell still running")
    session.expect("1 shell · ↓ to manage")
    (rig.workspace / "fifo").write_text("")
    session.expect("failed with exit code 3")
    session.expect("● woken")
    session.expect_idle()


def test_the_status_file_follows_the_session(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([bash("touch x"), text("end")]))
    session.expect_idle()
    path = rig.config / "sessions" / f"{session.pid}.json"
    idle = json.loads(path.read_text())
    assert (idle["status"], idle["sessionId"], idle["pid"]) == ("idle", SESSION, session.pid)
    assert idle["startedAt"] <= idle["statusUpdatedAt"] == idle["updatedAt"]
    assert len(str(idle["updatedAt"])) == 13, "milliseconds since 1970"
    session.say("go")
    session.expect("Esc to cancel")
    waiting = json.loads(path.read_text())
    assert (waiting["status"], waiting["waitingFor"]) == ("waiting", "permission prompt")
    session.type("1")
    session.expect("● end")
    session.expect_idle()
    assert json.loads(path.read_text())["status"] == "idle"
    session.type("\x04")
    assert session.wait() == 0
    assert not path.exists()


def test_an_idle_session_notifies(rig: Rig, terminal: Start) -> None:
    rig.settings["messageIdleNotifThresholdMs"] = 10
    os.mkfifo(rig.hooks / "told")
    command = f"cat > {rig.hooks}/told"
    rig.settings["hooks"]["Notification"] = [{"hooks": [{"type": "command", "command": command}]}]
    session = terminal("--script", rig.script([text("end")]), "--", "go")
    session.expect("● end")
    notice = json.loads((rig.hooks / "told").read_text())
    assert set(notice) == KEYS["Notification"]
    assert notice["notification_type"] == "idle_prompt"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_session_after_its_last_hook(
    rig: Rig, terminal: Start, number: int, code: int
) -> None:
    session = terminal("--script", rig.script([{"pause": 60}]), "--", "go")
    session.expect("esc to interrupt")
    session.signal(number)
    assert session.wait() == code
    assert rig.event_names()[-1] == "SessionEnd"


def test_a_terminal_that_goes_away_ends_the_session(rig: Rig, terminal: Start) -> None:
    session = terminal("--script", rig.script([text("hi")]))
    session.expect_idle()
    assert session.hang_up() == 129
    assert rig.event_names()[-1] == "SessionEnd"
