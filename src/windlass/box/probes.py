"""Probes: which isolation this machine really offers, found out by running it.

Each level is tried with the very recipe that sessions get. What fails is told with what would help.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from windlass.box import bwrap, groups, wrapper
from windlass.core.box_spec import BoxSpec, Network
from windlass.core.errors import WindlassError

_AGAIN = 30.0
_APPARMOR_SWITCH = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE_SWITCH = Path("/proc/sys/kernel/unprivileged_userns_clone")
_MOST_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
_INSTALL = {
    "apt-get": "sudo apt-get install bubblewrap",
    "dnf": "sudo dnf install bubblewrap",
    "pacman": "sudo pacman -S bubblewrap",
    "zypper": "sudo zypper install bubblewrap",
    "apk": "sudo apk add bubblewrap",
    "nix-env": "nix-env -iA nixpkgs.bubblewrap",
}
_PROFILE = """\
sudo tee /etc/apparmor.d/bwrap >/dev/null <<'END' && sudo apparmor_parser -r /etc/apparmor.d/bwrap
abi <abi/4.0>,
include <tunables/global>
profile bwrap {program} flags=(unconfined) {{
  userns,
  include if exists <local/bwrap>
}}
END"""
_TOO_OLD = (0, 4)
_UNSAID = (0,)


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried, how it went, and what would help."""

    name: str
    works: bool
    detail: str
    fix: str = ""


class Usable(NamedTuple):
    """Whether boxes work, with a network of their own and without; if not, why, and what helps."""

    full: bool
    host_network: bool
    why: str = ""
    fix: str = ""


def box() -> list[Probe]:
    """Tries the box with every namespace, without the network one, and what limits whole boxes."""
    _judged.cache_clear()
    bwrap.version.cache_clear()
    groups.forget()
    whole = _tried("none")
    probes = [
        Probe(
            name="bubblewrap",
            works=not whole,
            detail=whole or "own users, processes and network; system calls filtered",
            fix=_fix() if whole else "",
        )
    ]
    if whole and not _tried("host"):
        detail = "works without a network of its own: network = host only"
        probes.append(Probe(name="bubblewrap, host network", works=True, detail=detail))
    return [*probes, limits()]


def usable() -> Usable:
    """The same in short; what works is tried once, what does not again after a while.

    What a machine offers seldom changes while we run, but one that is busy may answer too late.
    """
    tried = _judged(0)
    return tried if tried.full else _judged(int(time.monotonic() // _AGAIN))


@cache
def _judged(moment: int) -> Usable:
    del moment  # only to be asked anew in another one
    whole = _tried("none")
    if not whole:
        return Usable(full=True, host_network=True)
    partly = _tried("host")
    return Usable(full=False, host_network=not partly, why=whole, fix=_fix().split("\n")[0])


def limits() -> Probe:
    """Says which limits hold for a whole box; those per process hold in every box."""
    available = groups.available()
    if available.memory and available.processes:
        return Probe(name="limits", works=True, detail="memory and processes, by control groups")
    held = [
        name
        for name, has in (("memory", available.memory), ("processes", available.processes))
        if has
    ]
    rest = [name for name in ("memory", "processes") if name not in held]
    detail = f"{' and '.join(rest)} of a whole box not limited ({available.why})"
    if "processes" in rest and os.geteuid() != 0:
        detail += "; processes are held by a limit for the user of each box instead"
    fix = "run the daemon in a group of your own: systemd-run --user --scope -p Delegate=yes wl …"
    return Probe(name="limits", works=False, detail=detail, fix=fix)


def landlock() -> Probe:
    """Asks the kernel for its Landlock version; no level of ours uses it yet."""
    if platform.system() != "Linux":
        return Probe(name="landlock", works=False, detail="Linux only")
    create_ruleset, version_flag = 444, 1
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(create_ruleset, None, 0, version_flag)
    if version < 0:
        return Probe(name="landlock", works=False, detail="not in this kernel")
    return Probe(name="landlock", works=True, detail=f"ABI {version}")


def _tried(network: Network) -> str:
    """Runs `true` in a box; returns what went wrong, or nothing."""
    if platform.system() != "Linux":
        return "boxes are made of Linux namespaces"
    program = bwrap.find()
    if program is None:
        return "bubblewrap is not installed"
    known = bwrap.version(program)
    # One that does not say is tried: it fails in its own words.
    if _UNSAID < known < _TOO_OLD:
        return f"{program} is too old: {'.'.join(map(str, known))}"
    with tempfile.TemporaryDirectory(prefix="windlass-probe-") as folder:
        try:
            place = Path(folder) / "place"
            place.mkdir()
            boxing = BoxSpec(writable=(str(place),), network=network)
            line = wrapper.prefix(boxing, folder=Path(folder) / "box", env={}, cwd=str(place))
            done = subprocess.run(
                [*line, "/bin/sh", "-c", "echo in >here"],
                capture_output=True, text=True, timeout=20, check=False, env={},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired, WindlassError) as error:
            return str(error)
        if done.returncode == 0 and (place / "here").exists():
            return ""
    return done.stderr.strip() or f"{program} ran nothing and ended with {done.returncode}"


def _fix() -> str:
    """What helps, the first line being enough for a hint."""
    program = bwrap.find()
    if platform.system() != "Linux":
        return "run agents on Linux, or go on with isolation = hooks"
    if program is None or bwrap.version(program) < _TOO_OLD:
        for manager, command in _INSTALL.items():
            if shutil.which(manager):
                return command
        return "install the package bubblewrap"
    if _value(_APPARMOR_SWITCH) not in {"", "0"}:
        return (
            f"let bubblewrap make user namespaces with an AppArmor profile:\n"
            f"{_PROFILE.format(program=os.path.realpath(program))}\n"
            "or, for every program: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if _value(_CLONE_SWITCH) == "0":
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _value(_MOST_NAMESPACES) == "0":
        return "sudo sysctl -w user.max_user_namespaces=15000"
    if _in_container():
        return (
            "this is a container that allows no namespaces within: start it with"
            " --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
        )
    return ""


def _in_container() -> bool:
    signs = ("/.dockerenv", "/run/.containerenv")
    named = os.environ.get("container")  # noqa: SIM112 - systemd spells it so
    return bool(named) or any(Path(sign).exists() for sign in signs)


def _value(switch: Path) -> str:
    try:
        return switch.read_text(encoding="ascii").strip()
    except OSError:
        return ""
