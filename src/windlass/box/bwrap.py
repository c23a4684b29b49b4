# ruff: noqa: PTH110, PTH111, PTH114
# (paths are text here: they go to a program)
"""The arguments of bubblewrap for one box: namespaces, a minimal root, and the places shown.

Owns what every box looks like and the order of its mounts. What runs in it and how it is started is
`wrapping`'s. Paths are the same inside as outside, but for files of ours that cover a box's own and
folders that are placed elsewhere; what is not listed is not there.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from windlass.core.box_spec import BoxSpec
from windlass.core.errors import ConfigError, Denied

HOSTNAME = "windlass-box"
FILTER_FD = "9"
_MEBIBYTE = 1 << 20
_TEMP = 1 << 30
_RUN = 16 * _MEBIBYTE

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Shown in every box, read-only, where they exist."""

_ETC = (
    "alternatives bash.bashrc ca-certificates crypto-policies default/locale fonts gai.conf"
    " claude-code gitattributes gnutls group host.conf hosts java-11-openjdk java-17-openjdk"
    " java-21-openjdk"
    " ld.so.cache locale.conf localtime lsb-release maven mime.types nsswitch.conf os-release"
    " passwd pki/ca-trust pki/java pki/tls/cert.pem pki/tls/certs pki/tls/openssl.cnf profile"
    " profile.d protocols resolv.conf services shells ssl/cert.pem ssl/certs ssl/openssl.cnf static"
    " terminfo timezone xdg zprofile zsh zshenv zshrc"
).split()
"""Of /etc, what programs read to work at all; no keys, no passwords, no services' settings. Each is
a mount of its own, and they add up: a thing for a few is left out."""
_SWITCHES = "sys pressure sysrq-trigger irq bus fs acpi scsi driver".split()
"""Below /proc; but for the first two they are root's alone."""
_ALSO = ("/var/lib/ca-certificates", "/sys/devices/system/cpu", "/run/current-system")


def find() -> str | None:
    """The path of bubblewrap's program; None if it is not installed."""
    return shutil.which("bwrap") or shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")


@cache
def version(program: str) -> tuple[int, ...]:
    """Asks the program for its version; (0,) if it does not say."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    numbers = re.search(r"\d+(\.\d+)+", done.stdout)
    return tuple(map(int, numbers[0].split("."))) if numbers else (0,)


def arguments(boxing: BoxSpec, *, shown: tuple[str, ...] = (), cwd: str | None = None) -> list[str]:
    """Builds the arguments of a box, without the program to run.

    `shown` are files of ours that the start needs, read-only, whatever else lies at their place.
    """
    program = find()
    if program is None:
        raise ConfigError("bubblewrap is not installed", "install the package bubblewrap")
    known = version(program)
    temp = boxing.quota.temp_size or _TEMP
    return [
        *_namespaces(boxing, known),
        "--as-pid-1",
        *_root(),
        *_etc(),
        *_proc(),
        *("--dev", "/dev"),
        *_tmpfs("/dev/shm", temp, known),  # noqa: S108 - the box's own, as below
        # A device file can be written to all the same; nothing can be made beside it.
        *("--remount-ro", "/dev"),
        *_tmpfs("/tmp", temp, known),  # noqa: S108
        *("--dir", "/var", "--symlink", "/tmp", "/var/tmp"),  # noqa: S108
        *_tmpfs("/run", min(temp, _RUN), known),
        *_also(),
        *_binds(boxing, shown),
        # What was made to hang mounts on must not become a place to write to.
        *("--remount-ro", "/"),
        *(("--chdir", cwd) if cwd else ()),
        *("--seccomp", FILTER_FD),
    ]


def reading(readable: tuple[str, ...], writable: tuple[str, ...], *, network: bool) -> list[str]:
    """Builds the arguments of a box in which a program of ours reads, without that program.

    As few mounts as it can do with: each of them costs, and there are many such boxes.
    """
    program = find()
    known = version(program) if program is not None else (0,)
    boxing = BoxSpec(readable=readable, writable=writable, network="host" if network else "none")
    return [
        *_namespaces(boxing, known),
        *_root(),
        *("--dev", "/dev"),
        *("--tmpfs", "/tmp"),  # noqa: S108 - the box's own
        *_binds(boxing, ()),
        *("--remount-ro", "/"),
        *("--seccomp", FILTER_FD),
    ]


def _namespaces(boxing: BoxSpec, known: tuple[int, ...]) -> Iterator[str]:
    yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts")
    yield from ("--unshare-cgroup-try", "--hostname", HOSTNAME)
    if boxing.network != "host":
        yield "--unshare-net"
    if known >= (0, 8):
        yield "--disable-userns"  # the filter refuses them too
    yield from ("--cap-drop", "ALL", "--die-with-parent")


def _root() -> Iterator[str]:
    for place in SYSTEM:
        path = Path(place)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), place)
        elif path.is_dir():
            yield from ("--ro-bind", place, place)


def _proc() -> Iterator[str]:
    """Without the kernel's switches, which root may turn even without capabilities (measured).

    bubblewrap covers them only where their *folder* looks writable.
    """
    yield from ("--proc", "/proc")
    for name in _SWITCHES if os.geteuid() == 0 else _SWITCHES[:2]:
        place = f"/proc/{name}"
        if os.path.exists(place):
            yield from ("--ro-bind", place, place)


def _also() -> Iterator[str]:
    for place in _ALSO:
        if Path(place).exists():
            yield from ("--ro-bind", place, place)


def _etc() -> Iterator[str]:
    yield from ("--tmpfs", "/etc")
    for name in _ETC:
        place = f"/etc/{name}"
        if not os.path.exists(place):
            continue
        # Through links: resolv.conf usually is one, into a folder that is not there.
        real = os.path.realpath(place)
        if real != place and _below(real, SYSTEM):
            yield from ("--symlink", real, place)
        else:
            yield from ("--ro-bind", real, place)
    if os.path.lexists("/etc/mtab"):
        yield from ("--symlink", "/proc/self/mounts", "/etc/mtab")
    yield from ("--remount-ro", "/etc")


def _tmpfs(place: str, size: int, known: tuple[int, ...]) -> Iterator[str]:
    if known >= (0, 7):
        yield from ("--size", str(size))
    if known >= (0, 5):
        yield from ("--perms", "1777" if place != "/run" else "0755")
    yield from ("--tmpfs", place)


def _binds(boxing: BoxSpec, shown: tuple[str, ...]) -> Iterator[str]:
    """Shallow before deep, and read-only after writable where both name one place."""
    wanted: dict[str, str] = {}
    for place in boxing.readable:
        if _exists(place) and not _below(place, SYSTEM):
            wanted[_clean(place)] = "--ro-bind"
    for place in boxing.writable:
        wanted.setdefault(_clean(place), "--bind")
        _require_real(place)
    for place in shown:
        wanted[_clean(place)] = "--ro-bind"
    covers = {_clean(place): ours for ours, place in boxing.covers}
    for place in covers:
        wanted[place] = "--ro-bind"
        _require_real(place)
    writable = [place for place, how in wanted.items() if how == "--bind"]
    done: dict[str, str] = {}
    for place, how in sorted(wanted.items(), key=lambda mount: mount[0].count("/")):
        _require_no_link_below(place, writable)
        if how == "--ro-bind" and place not in covers and _seen_already(place, done):
            continue
        done[place] = how
        yield from (how, covers.get(place, place), place)
    for outside, inside in boxing.placed:
        _require_real(outside)
        yield from ("--bind", outside, _clean(inside))


def _seen_already(place: str, done: dict[str, str]) -> bool:
    """Whether the folder that a place lies in shows it in the same way: each mount costs."""
    above = [other for other in done if place.startswith(f"{other}/")]
    if not above:
        return False
    nearest = max(above, key=len)
    if done[nearest] != "--ro-bind":
        return False
    return os.path.realpath(place).startswith(f"{os.path.realpath(nearest)}/")


def _clean(place: str) -> str:
    if not place.startswith("/"):
        raise ConfigError(f"a box shows absolute paths only, not {place!r}")
    clean = os.path.normpath(f"/{place.lstrip('/')}")
    if clean == "/" or clean in _OWN:
        raise Denied(f"a box cannot show {clean} as a whole", "name a folder in it")
    home = os.path.expanduser("~")
    if any(
        place == clean or place.startswith(f"{clean}/") for place in (home, os.path.realpath(home))
    ):
        raise Denied(f"a box cannot show {clean}: your home is in it", "name a folder in it")
    return clean


_OWN = ("/proc", "/dev", "/sys", "/etc", "/run", "/tmp", "/var")  # noqa: S108 - as above
"""What a box has of its own: the machine's would take its place."""


def _require_real(place: str) -> None:
    try:
        mode = os.lstat(place).st_mode
    except OSError as error:
        raise ConfigError(f"{place} cannot be shown in a box: {error.strerror}") from None
    if stat.S_ISLNK(mode):
        raise Denied(
            f"{place} is a symbolic link and is not made writable in a box",
            "a place to write to has to be a real folder: what put the link there?",
        )
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise Denied(f"{place} is no folder or file and is not made writable in a box")


def _require_no_link_below(place: str, writable: list[str]) -> None:
    """What an agent can write to, it can turn into a link to anywhere."""
    for outer in writable:
        if not place.startswith(f"{outer}/"):
            continue
        path = outer
        for part in place[len(outer) + 1 :].split("/"):
            path = f"{path}/{part}"
            if os.path.islink(path):
                raise Denied(
                    f"{path} is a symbolic link inside {outer}, which the agent can write to",
                    f"remove it: {place} has to be a real place",
                )


def _exists(place: str) -> bool:
    return os.path.exists(place)


def _below(place: str, folders: tuple[str, ...]) -> bool:
    clean = os.path.normpath(place)
    return any(clean == folder or clean.startswith(f"{folder}/") for folder in folders)
