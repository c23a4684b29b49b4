"""The environment that sessions and the project's own commands start from."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from windlass.api.calls import BOXED
from windlass.core.leaks import without_leaks

log = logging.getLogger(__name__)

PROGRAMS = "bin"
"""The folder in the state folder that is first on the PATH of sessions."""
_OURS_ALONE = ("WINDLASS_LOG", "WINDLASS_SEED", "WINDLASS_CLOCK_SCALE", "WINDLASS_FAILPOINTS")


_IN_BOXES = (
    *("PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "SHELL", "USER", "LOGNAME"),
    "WINDLASS_HOME",
)
"""What says how things look and where programs are; tokens and sockets of the person's do not."""
_CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"),
    *("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO"),
)
"""Whom to believe on the network: programs that bring certificates of their own would refuse what a
company's own authority signed, the package registries first."""
_THEIR_PLACES = ("/usr/", "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/pki/")
"""Where every box shows them; a name of a file that is not there would be worse than none."""


def point_wl(home: Path) -> None:
    """Has `wl` of all sessions be this installation's, of those too that an older one began."""
    link, ours = home / PROGRAMS / "wl", Path(sys.executable).parent / "wl"
    try:
        link.parent.mkdir(mode=0o700, exist_ok=True)
        if link.is_symlink() and link.readlink() == ours:
            return
        fresh = link.with_name("wl.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(ours)
        fresh.replace(link)
    except OSError as error:
        log.warning("sessions go on with the `wl` that they began with: %s", error)


def for_box(
    environ: Mapping[str, str], *, home: Path, private: Path, also: Iterable[str] = ()
) -> dict[str, str]:
    """What a boxed session starts from: little, and a home and a temporary folder of its own."""
    wanted = (*_IN_BOXES, *also)
    env = {
        name: value
        for name, value in for_session(environ, home=home).items()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
        or (name in _CERTIFICATES and value.startswith(_THEIR_PLACES))
    }
    return {**env, "HOME": str(private), "TMPDIR": "/tmp", BOXED: "1"}  # noqa: S108 - the box's own


def for_session(environ: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """What every session starts from; `wl` of the daemon that runs is first on its PATH.

    Behind it is that of this very installation, for a box that an upgrade's is not shown in.
    """
    env = without_leaks(environ)
    for name in _OURS_ALONE:
        env.pop(name, None)
    ours = str(Path(sys.executable).parent)
    path = [part for part in env.get("PATH", "/usr/bin:/bin").split(":") if part != ours]
    env["PATH"] = ":".join([str(home / PROGRAMS), ours, *path])
    env["WINDLASS_HOME"] = str(home)
    env.setdefault("LANG", "C.UTF-8")
    env.setdefault("TERM", "xterm-256color")
    env.setdefault("SHELL", "/bin/sh")
    return env
