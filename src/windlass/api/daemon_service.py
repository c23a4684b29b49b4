"""The daemon as a service of this machine's own supervisor: systemd's of the user, or launchd.

Owns the file that describes it and the lines that make the supervisor know of it. The service has
the environment that was written down at the person's last start: a supervisor's has no PATH of
theirs. It starts the daemon when the person logs in; agents are never its to end.
"""

from __future__ import annotations

import os
import plistlib
import sys
from typing import NamedTuple

from windlass import whole_file
from windlass.api import places
from windlass.core.errors import ConfigError

_RETURN = (sys.executable, "-P", "-m", "windlass.api.daemon_return")
_STOP = (sys.executable, "-P", "-m", "windlass", "daemon", "stop")
_IF_IT_RUNS = 'test -z "$MAINPID" || exec "$@"'
"""Not after a daemon's own end: some systemd stop what has ended."""


class Service(NamedTuple):
    """A file, and what is typed so that the supervisor heeds it or forgets it."""

    path: str
    text: bytes
    enable: tuple[tuple[str, ...], ...]
    disable: tuple[tuple[str, ...], ...]


def described() -> Service:
    """The service of this state folder's daemon on this machine."""
    return _launchd() if sys.platform == "darwin" else _systemd()


def write(service: Service) -> None:
    """Puts the file in its place."""
    try:
        os.makedirs(os.path.dirname(service.path), exist_ok=True)
        whole_file.replace(service.path, service.text, mode=0o644)
    except OSError as error:
        raise _unwritable(service, error) from None


def remove(service: Service) -> bool:
    """Removes the file; False if there was none."""
    try:
        os.unlink(service.path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unwritable(service, error) from None
    return True


def tell_supervisor(lines: tuple[tuple[str, ...], ...]) -> bool:
    """Runs them, quietly; False at the first that fails, as where no supervisor runs."""
    import subprocess  # noqa: PLC0415 - only this command needs it

    for line in lines:
        try:
            done = subprocess.run(line, capture_output=True, check=False, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return False
        if done.returncode != 0:
            return False
    return True


def _systemd() -> Service:
    name = f"{_name()}.service"
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # what its specification says to ignore
        folder = os.path.expanduser("~/.config")
    run = " ".join(map(_quoted, (*_RETURN, "--foreground", places.home())))
    stop = " ".join(map(_quoted, ("/bin/sh", "-c", _IF_IT_RUNS, "stop", *_STOP)))
    text = f"""\
[Unit]
Description=Windlass, the daemon behind wl ({_escaped(places.home())})

[Service]
Type=exec
ExecStart={run}
# Marks it as stopped by you, or the agents' sessions would bring it back.
ExecStop=-{stop}
Environment={_quoted(f"WINDLASS_HOME={places.home()}")}
Restart=on-failure
# Another one runs already: somebody was faster.
SuccessExitStatus=14
# Agents live in this group, and go on without a daemon.
KillMode=process

[Install]
WantedBy=default.target
"""
    systemctl = ("systemctl", "--user")
    return Service(
        path=os.path.join(folder, "systemd", "user", name),
        text=os.fsencode(text),
        enable=((*systemctl, "daemon-reload"), (*systemctl, "enable", name)),
        disable=((*systemctl, "disable", name), (*systemctl, "daemon-reload")),
    )


def _launchd() -> Service:
    label = f"{_name()}.daemon"
    path = os.path.expanduser(f"~/Library/LaunchAgents/{label}.plist")
    described = {
        "Label": label,
        "ProgramArguments": [*_RETURN, "--foreground", places.home()],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "AbandonProcessGroup": True,
    }
    domain = f"gui/{os.getuid()}"
    return Service(
        path=path,
        text=plistlib.dumps(described),
        enable=(("launchctl", "bootstrap", domain, path),),
        disable=(("launchctl", "bootout", f"{domain}/{label}"),),
    )


def _name() -> str:
    """One for the usual state folder, and one for each that was chosen."""
    if not os.environ.get("WINDLASS_HOME"):
        return "windlass"
    return f"windlass-{os.path.basename(places.runtime())}"


def _quoted(word: str) -> str:
    inner = _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{inner}"'


def _escaped(word: str) -> str:
    """A word in which systemd sees no specifiers."""
    return word.replace("%", "%%")


def _unwritable(service: Service, error: OSError) -> ConfigError:
    return ConfigError(f"{service.path} cannot be written: {error.strerror}", "see its folder")
