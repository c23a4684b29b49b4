# ruff: noqa: PTH102, PTH112, PTH118, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""What of a person's own set-up a clone brings along, since no HOME of theirs is in the box.

Owns the choice: who commits, what files mean, what is ignored, and the hooks that they expect to
run. Nothing that names a program, a key or a place elsewhere.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from typing import TYPE_CHECKING

from windlass.git import workspace_state
from windlass.git.included import user_excludes
from windlass.git.person_git import user_settings
from windlass.git.quarantine import format_config
from windlass.git.repository import object_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windlass.git.repository import Repository

_KEPT = (
    *("user.name", "user.email", "author.name", "author.email"),
    *("committer.name", "committer.email", "i18n.commitencoding"),
    *("core.autocrlf", "core.eol", "core.safecrlf", "core.filemode", "core.symlinks"),
    *("core.ignorecase", "core.precomposeunicode", "core.whitespace", "core.commentchar"),
    *("core.trustctime", "core.checkstat", "core.checkroundtripencoding"),
    *("merge.conflictstyle", "merge.ff", "merge.renames", "pull.rebase", "pull.ff"),
    *("rebase.autosquash", "diff.renames", "diff.algorithm"),
)
_FIXED = {"core.bare": "false", "core.logallrefupdates": "true"}
_NO_PUSH = "nothing is pushed from here: commits on your branch reach the repository by themselves"
_LIMIT = 1 << 20


def files(repo: Repository, *, origin: str) -> dict[str, bytes]:
    """Gives the files of a clone's git folder that say how its person works."""
    return {
        **rules(repo, origin=origin),
        "info/exclude": _joined(
            user_excludes(repo)["core.excludesFile"], os.path.join(repo.git_dir, "info/exclude")
        ),
    }


def rules(repo: Repository, *, origin: str) -> dict[str, bytes]:
    """Gives those of them that say what files mean, and not what is ignored."""
    settings = user_settings(cwd=repo.root)
    chosen = settings.get("core.attributesfile") or _in_config_home("attributes")
    return {
        "config": _config(repo, settings, origin=origin),
        "info/attributes": _joined(
            _expanded(chosen), os.path.join(repo.git_dir, "info/attributes")
        ),
    }


def copy_hooks(repo: Repository, folder: str) -> None:
    """Copies the hooks that would run in the main repository; a chosen folder has none here."""
    source = os.path.join(repo.git_dir, "hooks")
    if "core.hookspath" in user_settings(cwd=repo.root) or not os.path.isdir(source):
        return
    os.mkdir(folder)
    for name in sorted(os.listdir(source)):
        origin = os.path.join(source, name)
        if name.endswith(".sample") or not _is_program(origin):
            continue
        # Followed: people link their hooks to scripts that they keep elsewhere.
        shutil.copyfile(origin, os.path.join(folder, name))
        os.chmod(os.path.join(folder, name), 0o755)  # noqa: PTH101, S103 -- git runs it


def _is_program(path: str) -> bool:
    try:
        info = os.stat(path)  # noqa: PTH116 -- a link to a program is one
    except OSError:
        return False
    return stat.S_ISREG(info.st_mode) and bool(info.st_mode & 0o100) and info.st_size <= _LIMIT


def _config(repo: Repository, settings: Mapping[str, str], *, origin: str) -> bytes:
    wanted = {key: settings[key] for key in _KEPT if key in settings} | _FIXED
    hooks = _relative_hooks(repo, settings.get("core.hookspath"))
    if hooks is not None:
        wanted["core.hookspath"] = hooks
    lines = [format_config(object_format(repo))]
    section = "core"
    for key, value in sorted(wanted.items(), key=lambda item: (item[0][:5] != "core.", item)):
        if not key.startswith(f"{section}."):
            section = key.partition(".")[0]
            lines.append(f"[{section}]\n".encode())
        lines.append(_line(key.partition(".")[2], value))
    lines += [
        b'[remote "origin"]\n',
        _line("url", origin),
        _line("fetch", "+refs/heads/*:refs/remotes/origin/*"),
        # What git runs to receive a push: it says why there is none.
        _line("receivepack", f"echo {shlex.quote(_NO_PUSH)} >&2; exit 1; :"),
    ]
    return b"".join(lines)


def _relative_hooks(repo: Repository, chosen: str | None) -> str | None:
    """Gives a hooks folder that is part of the tree, which a clone has too."""
    if chosen is None:
        return None
    if os.path.isabs(chosen):  # noqa: PTH117 -- names are bytes
        inside = chosen.startswith(repo.root + os.sep)
        chosen = os.path.relpath(chosen, repo.root) if inside else ""
    if not chosen or chosen.startswith(("~", "..", "%")) or chosen.split("/")[0] == ".git":
        return None
    return chosen


def _line(name: str, value: str) -> bytes:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'\t{name} = "{escaped}"\n'.encode(errors="surrogateescape")


def _joined(*paths: str) -> bytes:
    """Joins files in the order in which git would let the later one win."""
    texts = [workspace_state.read_person(path, limit=_LIMIT) for path in paths]
    return b"".join(text if text.endswith(b"\n") else text + b"\n" for text in texts if text)


def _in_config_home(name: str) -> str:
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join("~", ".config")
    return os.path.join(home, "git", name)


def _expanded(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 -- names are bytes
