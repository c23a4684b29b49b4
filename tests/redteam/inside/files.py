"""Lines 1 to 9: files of others, by every way to a file."""

from __future__ import annotations

import ctypes
import os
import pwd
from pathlib import Path

from tests.redteam.inside.trying import Map, attack, loot, plant


@attack("1 read")
def _(known: Map) -> object:
    return loot(f"../{known['sibling_id']}/secret.txt")


@attack("1 write")
def _(known: Map) -> object:
    return plant(f"../{known['sibling_id']}/planted.txt")


@attack("2 read")
def _(known: Map) -> object:
    return loot(f"{known['main']}/.env")


@attack("2 write")
def _(known: Map) -> object:
    return plant(f"{known['main']}/planted.txt")


@attack("3 read")
def _(known: Map) -> object:
    Path("link").unlink(missing_ok=True)
    Path("link").symlink_to(known["sibling"])
    return loot("link/secret.txt")


@attack("3 write")
def _(_: Map) -> object:
    return plant("link/planted.txt")


@attack("4 self")
def _(known: Map) -> object:
    return loot(f"/proc/self/root{known['main']}/.env")


@attack("4 thread")
def _(known: Map) -> object:
    return loot(f"/proc/thread-self/root{known['main']}/.env")


@attack("5 cwd")
def _(known: Map) -> object:
    return loot(f"/proc/{known['witness']['pid']}/cwd/secret.txt")


@attack("5 root")
def _(known: Map) -> object:
    return loot(f"/proc/{known['witness']['pid']}/root{known['main']}/.env")


@attack("5 fd")
def _(known: Map) -> object:
    return loot(f"/proc/{known['witness']['pid']}/fd/{known['witness']['fd']}")


@attack("6 hardlink")
def _(known: Map) -> object:
    os.link(f"{known['sibling']}/secret.txt", "linked.txt")
    return loot("linked.txt")


@attack("7 chmod")
def _(known: Map) -> object:
    Path(f"{known['sibling']}/secret.txt").chmod(0o640)
    return "changed its mode"


@attack("7 utime")
def _(known: Map) -> object:
    os.utime(f"{known['sibling']}/secret.txt", (1, 1))
    return "changed its time"


@attack("7 stat")
def _(known: Map) -> object:
    return f"{Path(known['sibling'], 'secret.txt').stat().st_size} bytes"


@attack("8 key")
def _(known: Map) -> object:
    return loot(f"{known['home']}/.ssh/id_test")


@attack("8 rc")
def _(known: Map) -> object:
    return plant(f"{known['home']}/.bashrc")


@attack("8 unit")
def _(known: Map) -> object:
    folder = Path(known["home"]) / ".config/systemd/user"
    folder.mkdir(parents=True, exist_ok=True)
    return plant(folder / "planted.service", "[Service]\nExecStart=/bin/true\n# planted\n")


@attack("8 by user")
def _(_: Map) -> object:
    # Whatever HOME says, the system knows where this user's is.
    home = pwd.getpwuid(os.getuid()).pw_dir
    # The toolchains in it are shown; how much else there is says enough.
    shown = {".pyenv", ".cache", ".local", ".cargo", ".rustup", ".nvm"}
    return len({path.name for path in Path(home).iterdir()} - shown)


@attack("9 shm")
def _(known: Map) -> object:
    return loot(known["shm_file"])


@attack("9 tmp")
def _(known: Map) -> object:
    return loot(known["tmp_file"])


@attack("9 sysv")
def _(known: Map) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(known["shm_key"], 64, 0)
    if number < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    libc.shmat.restype = ctypes.c_void_p
    place = libc.shmat(number, None, 0o10000)
    return ctypes.string_at(place).decode()
