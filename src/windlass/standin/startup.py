"""Sets a session up from the command line, the environment and the files that they name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from windlass.core.errors import UserError
from windlass.core.script.format import Script, parse
from windlass.standin.children import Children
from windlass.standin.conversation import Conversation
from windlass.standin.face import UserMessage
from windlass.standin.flags import Flags, UsageError
from windlass.standin.hooks import HookRunner
from windlass.standin.permissions import PermissionRules
from windlass.standin.settings import ConfiguredHook, Settings
from windlass.standin.shell import Shell, Task, notification
from windlass.standin.transcript import Transcript, new_id, read_history, transcript_path


class NoConversation(UsageError):
    """There is no session of that id to go on with."""


def make_rules(flags: Flags, settings: Settings) -> PermissionRules:
    """Returns the rules of the session; as root it refuses to do without any."""
    mode = flags.permission_mode or settings.mode or "default"
    if flags.skip_permissions:
        mode = "bypassPermissions"
    if mode == "bypassPermissions" and os.geteuid() == 0 and not os.environ.get("IS_SANDBOX"):
        raise UsageError(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges "
            "for security reasons"
        )
    return PermissionRules(
        mode,
        [*flags.allowed_tools, *settings.allow],
        [*flags.disallowed_tools, *settings.deny],
        [*settings.ask],
    )


def find_script(wanted: str | None, cwd: Path, env: Mapping[str, str]) -> Script | None:
    """Reads the script of this session; None when there is none and the default shall play."""
    if wanted:
        return _parsed(Path(wanted))
    task, step = env.get("WINDLASS_TASK"), env.get("WINDLASS_STEP")
    visit, iteration = env.get("WINDLASS_VISIT"), env.get("WINDLASS_ITERATION")
    of_visit = f"{task}.{step}.{visit}" if task and step and visit else ""
    names = [f"{of_visit}.{iteration}.json"] if of_visit and iteration else []
    names += [f"{of_visit}.json"] if of_visit else []
    names += [f"{task}.{step}.json"] if task and step else []
    names += [f"{task}.json"] if task else []
    for name in names:
        path = cwd / ".windlass" / "scripts" / name
        if "/" not in name and path.is_file():
            return _parsed(path)
    return None


def _parsed(path: Path) -> Script:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"script {path}: {error.strerror}", "check the path") from None
    return parse(data, f"script {path}")


def check_system_prompt(flags: Flags) -> None:
    """Fails as the real program does when the file is missing; nobody here obeys it."""
    name = flags.append_system_prompt_file
    if name and not Path(name).is_file():
        raise UsageError(f"Error: Append system prompt file not found: {Path(name).absolute()}")


def config_folder() -> Path:
    """Returns the folder in which sessions are kept."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(folder).absolute() if folder else Path.home() / ".claude"


def open_transcript(flags: Flags, cwd: Path) -> tuple[Transcript, str]:
    """Opens the session's record: a new one, or the one to go on with."""
    before = _resumed(flags, cwd)
    if before and not before.is_file():
        raise NoConversation(f"No conversation found with session ID: {flags.resume}")
    if before and not flags.fork_session:
        return Transcript(before, session=before.stem, cwd=str(cwd)), "resume"
    session = flags.session_id or new_id()
    path = transcript_path(config_folder(), str(cwd), session)
    if path.exists():
        raise UsageError(f"Error: Session ID {session} is already in use.")
    return Transcript(path, session=session, cwd=str(cwd)), "resume" if before else "startup"


def _resumed(flags: Flags, cwd: Path) -> Path | None:
    """Returns the record that `--resume` names, by its session or by its file."""
    if not flags.resume:
        return None
    if flags.resume.endswith(".jsonl"):
        return Path(flags.resume).absolute()
    return transcript_path(config_folder(), str(cwd), flags.resume)


def restore(talk: Conversation, flags: Flags) -> None:
    """Recovers how far a resumed session had come."""
    before = _resumed(flags, talk.cwd)
    if before is None:
        return
    history = read_history(before)
    if flags.fork_session:
        talk.transcript.copy(history)
    else:
        talk.transcript.resume(history)
    talk.recall(history)


def equip(talk: Conversation, settings: Settings, children: Children) -> None:
    """Gives the conversation its hooks and its shell."""
    env = {**os.environ, **settings.env}
    tools = {
        **env,
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_SESSION_ID": talk.session,
    }
    tools.setdefault("EMAIL", f"{talk.agent}@standin.invalid")

    def woken(hook: ConfiguredHook, text: str) -> None:
        words = (
            "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n"
            f'<system-reminder>\nStop hook blocking error from command "{hook.event}": '
            f"{text}\n</system-reminder>"
        )
        talk.inbox.append(UserMessage(words, "rewake", shown="Stop hook feedback"))

    def ended(task: Task) -> None:
        words = notification(task)
        shown = words.partition("<summary>")[2].partition("</summary>")[0]
        talk.inbox.append(UserMessage(words, "task", shown=shown))

    talk.hooks = HookRunner(
        settings.hooks, children=children, cwd=str(talk.cwd), env=env, woken=woken
    )
    outputs = config_folder() / "tasks" / talk.session
    talk.shell = Shell(children, cwd=talk.cwd, env=tools, outputs=outputs, ended=ended)
