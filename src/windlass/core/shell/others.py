"""What is others': their processes, their terminals, the person's verbs, and the agent's own name.

Below a box nothing keeps an agent from them; a line that says so is refused.
"""

from __future__ import annotations

import re

from windlass.core.shell.refusals import Refused, identity
from windlass.core.shell.values import UNKNOWN

LEAVING = {
    "tmux": "the terminals of all agents are its sessions",
    "screen": "it reaches terminals of others",
    "at": "what it runs later is nobody's any more",
    "batch": "what it runs later is nobody's any more",
    "crontab": "what it runs later is nobody's any more",
    "systemd-run": "what it starts is nobody's any more",
    "machinectl": "it reaches sessions of others",
    "nsenter": "it reaches processes of others",
    "chroot": "paths mean something else in it",
    "su": "it acts as another user",
    "runuser": "it acts as another user",
}
_SERVICES = frozenset(
    (
        *(
            "enable",
            "disable",
            "start",
            "stop",
            "restart",
            "reload",
            "link",
            "edit",
            "mask",
            "kill",
        ),
        *("load", "bootstrap", "submit", "set-property", "set-environment", "import-environment"),
    )
)
"""What changes services."""
HOST = re.compile(r"(?:[\w.-]+@)?(?:localhost|127(?:\.\d+){1,3}|::1|0\.0\.0\.0|\0)")
_CALLS_US = re.compile(r"\bwl\b|windlass\b")
OURS = re.compile(r"WINDLASS\w*")
RENAMED = re.compile(r"(?<![$\w{\"])WINDLASS|\{!WINDLASS")
_CREW = re.compile(r"windlass|\bwl\b|claude|tmux", re.IGNORECASE)
_INTERPRETER = re.compile(r"node|bun|python[0-9.]*|(?:ba|da|z)?sh|git")
"""What agents, and what keeps them, run on."""
_APART = ("setsid", "daemonize", "start-stop-daemon", "disown")
_FINDING = ("pgrep", "pidof")
_ENDING = re.compile(r"\bkill\b|\b(?:gdb|lldb|strace|ltrace|reptyr)\b")
"""What does something to processes that were found by their names."""
_PERSONS = frozenset(
    (
        *("exec", "daemon", "model", "demo", "attach", "drivers", "completion", "trust", "allow"),
        *("estop", "gc", "repair", "hooks", "init"),
    )
)
_CHANGING = frozenset(("set", "add", "remove", "unset", "edit"))
_OTHER_USER = re.compile(r"(?:-\w*[is]|su)(?: |$)|-u ?\S+ .*\b(?:wl|windlass)\b")


def require_own_verb(rest: list[str]) -> None:
    """Refuses what of `wl` is the person's."""
    plain = [text for text in rest if not text.startswith("-")]
    if plain[:1] == ["dev"]:
        del plain[0]
    verb = plain[0] if plain else ""
    changing = verb == "config" and not _CHANGING.isdisjoint(plain)
    if verb in _PERSONS or changing:
        raise Refused(f"wl {verb} is for people; ask with `wl ask`", "others")


class Others:
    """Judges commands by what they do to others; what the whole line says is looked up once."""

    def __init__(self, line: str) -> None:
        self.called = _CALLS_US.search(line) is not None
        """Whether the line calls `wl`, or may."""
        self._said = "WINDLASS" in line
        self._parent = "PPID" in line
        self._ends = _ENDING.search(line) is not None

    def require_staying(self, name: str, rest: list[str]) -> None:
        """Refuses programs by which something leaves the session, or reaches those of others."""
        if name in LEAVING and rest not in (["-V"], ["-l"], ["--version"]):
            reason = f"{name} is not for agents: {LEAVING[name]}"
            raise Refused(reason, "others", (f"Bash({name}:*)",))
        if name == "sudo" and _OTHER_USER.match(" ".join(rest)):
            raise Refused("sudo that acts as another user is not for agents", "others")
        if name in _APART and self.called:
            raise identity(f"{name} with wl")
        if name in ("pkill", "killall", "kill") or (name in _FINDING and self._ends):
            self._require_own_processes(name, rest)
        if name in ("systemctl", "launchctl") and not _SERVICES.isdisjoint(rest[:3]):
            reason = f"{name} is not for agents: what it starts is nobody's any more"
            raise Refused(reason, "others", (f"Bash({name}:*)",))
        if name == "ssh" and any(map(HOST.fullmatch, rest[:6])):
            raise Refused("ssh to this machine leaves the session", "others", ("Bash(ssh:*)",))

    def require_own_name(self, rest: list[str]) -> None:
        """Refuses an `env` that makes somebody else of the agent."""
        for at, text in enumerate(rest):
            name = rest[at - 1] == "-u" and at > 0
            bare = text.removeprefix("-u").removeprefix("--unset=")
            if OURS.match(bare) and (name or bare != text or "=" in bare):
                raise identity(bare.partition("=")[0])
            if self.called and self._said and UNKNOWN in text:
                raise identity("every variable")
            if self.called and text in ("-", "-i", "--ignore-environment"):
                raise identity("every variable")

    def _require_own_processes(self, name: str, rest: list[str]) -> None:
        wide = (
            "-1" in rest[1:]
            or (self._parent and "1" in rest)
            or (name != "kill" and any(text in ("-u", "-U", "-g") for text in rest))
        )
        named = [text for text in rest if not text.startswith("-")]
        broad = name in ("pkill", "killall") and any(map(_INTERPRETER.fullmatch, named))
        if wide or broad or (name != "kill" and any(map(_CREW.search, rest))):
            raise Refused(
                f"{name} would end what is not yours; end your own by number or as %1", "others"
            )
