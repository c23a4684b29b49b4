"""Probes: which isolation this machine really offers, found out by running it."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess

import msgspec


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried, how it went, and what would help."""

    name: str
    works: bool
    detail: str
    fix: str = ""


_APPARMOR = (
    "allow bwrap user namespaces: an AppArmor profile for /usr/bin/bwrap with `userns,`, "
    "or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
)


def box() -> list[Probe]:
    """Tries bubblewrap with every namespace, and without the network one."""
    program = shutil.which("bwrap")
    if program is None:
        fix = "install the package bubblewrap"
        return [Probe(name="bubblewrap", works=False, detail="not installed", fix=fix)]
    whole = _bwrap(program, "--unshare-net")
    probes = [
        Probe(
            name="bubblewrap",
            works=not whole,
            detail=whole or "own user, process and network namespaces",
            fix=_APPARMOR if whole else "",
        )
    ]
    if whole:
        partly = _bwrap(program)
        detail = partly or "works without its own network"
        probes.append(Probe(name="bubblewrap, host network", works=not partly, detail=detail))
    return probes


def landlock() -> Probe:
    """Asks the kernel for its Landlock version; no level of ours uses it yet."""
    if platform.system() != "Linux":
        return Probe(name="landlock", works=False, detail="Linux only")
    create_ruleset, version_flag = 444, 1
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(create_ruleset, None, 0, version_flag)
    if found < 0:
        return Probe(name="landlock", works=False, detail="not in this kernel")
    return Probe(name="landlock", works=True, detail=f"ABI {found}")


def _bwrap(program: str, *extra: str) -> str:
    """Runs `true` in a box; returns what went wrong, or nothing."""
    argv = [
        program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", *extra,
        "--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc",
        "--dev", "/dev", "true",
    ]  # fmt: skip
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"ended {done.returncode}")
