"""What guided reading knows of programs by their names, and which of their words are texts."""

from __future__ import annotations

import re

from windlass.core.shell.said import Said
from windlass.core.shell.texts import texts_of

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))
RUNNERS = frozenset(
    (
        *("env", "xargs", "find", "fd", "sudo", "doas", "nohup", "nice", "ionice", "timeout"),
        *("time", "command", "builtin", "exec", "stdbuf", "setsid", "busybox", "watch", "parallel"),
        *("script", "strace", "ltrace", "flock", "chronic", "unbuffer", "npx", "uv"),
        *("poetry", "pipenv", "hatch", "bundle", "nix-shell", "entr", "su", "systemd-run"),
        *("unshare", "bwrap", "firejail", "direnv"),
    )
)
"""Programs that start what their words name."""
CODE = re.compile(
    r"(?:python|pypy|node|deno|bun|perl|ruby|php|lua|tclsh|guile|awk|gawk|mawk|nawk|sed|ed|ex|vim?"
    r"|nvim|emacs|gdb|lldb|sqlite3|psql|mysql|R|Rscript|jshell|groovy|osascript|expect|make)[0-9.]*"
)
"""Programs whose words may be programs that open files."""
WRITING = frozenset(
    (
        *("mv", "rm", "rmdir", "mkdir", "touch", "tee", "chmod", "chown", "truncate", "shred"),
        *("unlink", "mkfifo", "mknod", "chgrp", "setfacl"),
    )
)
INTO = frozenset(("cp", "ln", "rsync", "install", "dd"))
"""Programs that write to the last of their words."""
OUTPUT = re.compile(r"-o|-O|--out(?:put(?:-\w+)?)?|-d|-P")
PRINTING = frozenset(
    ("echo", "printf", ":", "true", "false", "logger", "wl", "windlass", "gh", "http", "xh")
)
SEARCHING = frozenset(("git", "grep", "egrep", "fgrep", "rg", "ag", "ack"))
"""Programs whose texts are only compared, and may say anything but a closed place."""
REMOTE = frozenset(("scp", "rsync", "sftp", "ssh-copy-id"))
CONTAINERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "docker-compose", "oc"))
_TEXT_BEHIND = {
    **dict.fromkeys(
        ("git", "gh", "hg"),
        re.compile(r"-[a-zA-Z]*m|--(?:message|title|body|grep|author|format|pretty)"),
    ),
    "curl": re.compile(r"-[dHAXubw]|--(?:data\S*|header|json|user-agent|request)"),
    **dict.fromkeys(("rg", "ag", "ack"), re.compile(r"-[a-zA-Z]*[eg]|--(?:glob|regexp)")),
}
"""Options before a text."""
_SED_FILES = re.compile(r"[;{}\n0-9$/][ \t]?(?:[rRwW][ \t]?[/~.]|e[ \t]\S)")
"""Commands of sed that read and write files, or run others."""
STARTING = re.compile(
    r"-\w+|/|(?:~|\0|/home/[^/]+|/root)/\.(?:bashrc|zshrc|profile|bash_profile|zprofile)"
)


def in_place(words: tuple[Said, ...]) -> bool:
    """Whether a program that edits is told to write where it reads."""
    return any(re.match(r"-(?!I)[a-zA-Z]*i|--in-place", word.text) for word in words[1:])


def text_positions(name: str, words: tuple[Said, ...]) -> set[int]:
    """Which words are texts: messages, patterns, what is compared or sent."""
    said = [word.text for word in words]
    places = texts_of(name, words)
    behind = _TEXT_BEHIND.get(name)
    if behind is not None:
        places |= {at for at in range(2, len(said)) if behind.fullmatch(said[at - 1])}
    if name == "curl":
        places = {at for at in places if not said[at].startswith(("@", "~", "/", "../"))}
    if name in ("[", "test", "[["):
        places |= {at for at in range(1, len(said)) if not re.match(r"-[a-zA-Z]$", said[at - 1])}
    if name == "sed":
        places = {at for at in places if not _SED_FILES.search(f";{said[at]}")}
    if CODE.fullmatch(name) and name != "sed":
        places = {at for at in places if len(said[at]) < 4}
    return places
