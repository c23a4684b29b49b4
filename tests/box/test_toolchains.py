from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from windlass.box import toolchains


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "me"
    for secret in (".ssh", ".config", ".gnupg", "work/secret"):
        (path / secret).mkdir(parents=True)
    return path


def _program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _environment(folder: Path, python: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\n")
    (folder / "bin" / "python").symlink_to(python)
    return folder


def found(home: Path, *path: Path | str, **more: Any) -> set[str]:
    """What is shown for a PATH, below the home as the person would write it."""
    shown = toolchains.find(os.pathsep.join(map(str, path)), home=str(home), **more)
    return {one.replace(str(home), "~") for one in shown}


def test_the_systems_own_folders_are_not_listed(home: Path) -> None:
    assert found(home, "/usr/bin", "/bin", "/usr/local/bin", "relative", "", "/none") == set()


def test_version_managers_are_shown_whole(home: Path) -> None:
    _program(home / ".pyenv/shims/python")
    _program(home / ".nvm/versions/node/v22/bin/node")
    _program(home / ".local/share/mise/shims/go")
    path = (
        home / ".pyenv/shims",
        home / ".nvm/versions/node/v22/bin",
        home / ".local/share/mise/shims",
    )
    assert found(home, *path) == {"~/.pyenv", "~/.nvm", "~/.local/share/mise"}


def test_rust_is_shown_without_what_cargo_keeps_beside_it(home: Path) -> None:
    _program(home / ".cargo/bin/cargo")
    (home / ".cargo/credentials.toml").touch()
    (home / ".rustup/toolchains").mkdir(parents=True)
    assert found(home, home / ".cargo/bin") == {"~/.cargo/bin", "~/.rustup"}


def test_a_link_in_local_bin_shows_its_tool_and_that_tools_python(home: Path) -> None:
    python = _program(home / ".local/share/uv/python/cpython-3.12/bin/python3.12")
    tool = _environment(home / ".local/share/uv/tools/ruff", python)
    _program(tool / "bin/ruff")
    (home / ".local/share/secret").mkdir()
    (home / ".local/lib").mkdir()
    (home / ".local/bin").mkdir()
    (home / ".local/bin/ruff").symlink_to(tool / "bin/ruff")
    shown = found(home, home / ".local/bin")
    assert shown == {
        "~/.local/bin",
        "~/.local/lib",
        "~/.local/share/uv/tools/ruff",
        "~/.local/share/uv/python",
    }


def test_a_native_program_is_shown_alone(home: Path) -> None:
    real = _program(home / ".local/share/claude/versions/2.1.197", "\x7fELF")
    (home / ".local/bin").mkdir()
    (home / ".local/bin/claude").symlink_to(real)
    shown = found(home, "/usr/bin", programs=(str(home / ".local/bin/claude"),))
    assert shown == {"~/.local/bin/claude", "~/.local/share/claude"}
    loose = _program(home / "Downloads/tool", "\x7fELF")
    assert found(home, "/usr/bin", programs=(str(loose),)) == {"~/Downloads/tool"}


def test_a_script_of_node_brings_its_modules_and_node(home: Path) -> None:
    node = _program(home / ".volta/bin/node", "\x7fELF")
    script = _program(home / "apps/node_modules/cli/cli.js", "#!/usr/bin/env node\n")
    shown = found(home, node.parent, programs=(str(script),))
    assert shown == {"~/.volta", "~/apps/node_modules"}


def test_an_environment_in_the_main_tree_is_shown_and_nothing_else_of_it(home: Path) -> None:
    main = home / "project"
    python = _program(home / ".pyenv/versions/3.12/bin/python3.12")
    _environment(main / ".venv", python)
    _program(main / "scripts/tool")
    _program(main / "bin/tool")
    (main / "lib").mkdir()
    (main / ".git").mkdir()
    path = (main / ".venv/bin", main / "scripts", main / "bin", main)
    assert found(home, *path, tree=str(main)) == {"~/project/.venv", "~/.pyenv"}


def test_a_link_out_of_the_main_trees_environment_does_not_lead_back_into_it(home: Path) -> None:
    main = home / "project"
    tree = _environment(main / ".venv", _program(main / "python/bin/python3"))
    assert found(home, tree / "bin", tree=str(main)) == {"~/project/.venv"}


@pytest.mark.parametrize(
    "place", ["", "bin/..", ".ssh", ".config", ".local", ".local/share", "..", "../.."]
)
def test_a_home_and_its_secrets_are_never_shown(home: Path, place: str) -> None:
    assert found(home, home / place) == set()


def test_a_link_to_a_secret_does_not_show_it(home: Path) -> None:
    (home / "bin").mkdir()
    (home / ".ssh/id").touch()
    (home / "bin/id").symlink_to(home / ".ssh/id")
    (home / "keys").symlink_to(home / ".ssh")
    assert found(home, home / "bin", home / "keys") == {"~/bin"}


def test_an_unknown_folder_of_programs_is_shown_without_what_is_around_it(home: Path) -> None:
    _program(home / "work/secret/bin/tool")
    assert found(home, home / "work/secret/bin") == {"~/work/secret/bin"}


def _repository(folder: Path, kind: str) -> None:
    """Makes a folder look like a repository to whoever does not run git."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "worktree":
        (folder / ".git").write_text("gitdir: elsewhere\n")
    elif kind == "bare":
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        for name in ("objects", "refs"):
            (folder / name).mkdir()
    else:
        (folder / ".git").mkdir()


@pytest.mark.parametrize("kind", ["plain", "worktree", "bare"])
def test_of_another_repository_only_the_folder_of_programs_is_shown(home: Path, kind: str) -> None:
    """It looks like something that was installed, and is a part of a project."""
    _repository(home / "project", kind)
    for folder in ("project", "project/tools", "project/tools/deep"):
        _program(home / folder / "bin/tool")
        (home / folder / "lib").mkdir()
    path = [home / folder / "bin" for folder in ("project", "project/tools", "project/tools/deep")]
    assert found(home, *path) == {
        "~/project/bin",
        "~/project/tools/bin",
        "~/project/tools/deep/bin",
    }
    assert found(home, programs=(str(path[1] / "tool"),)) == {"~/project/tools/bin/tool"}
    said = toolchains.alone(os.pathsep.join(map(str, path)), home=str(home))
    assert said == tuple(map(str, path))


@pytest.mark.parametrize("kind", ["plain", "worktree", "bare"])
@pytest.mark.parametrize("where", ["work", "work/project", "work/group/project"])
def test_no_folder_is_shown_in_which_a_repository_lies(home: Path, kind: str, where: str) -> None:
    _program(home / "work/bin/tool")
    (home / "work/lib").mkdir()
    _repository(home / where, kind)
    assert found(home, home / "work/bin") == {"~/work/bin"}
    assert found(home, home / "work") == set()


def test_a_repository_that_calls_itself_an_environment_is_none(home: Path) -> None:
    _program(home / "project/bin/tool")
    (home / "project/pyvenv.cfg").touch()
    _repository(home / "project", "plain")
    assert found(home, home / "project/bin") == {"~/project/bin"}


def test_tools_that_are_repositories_themselves_are_shown_and_so_is_what_a_home_is(
    home: Path,
) -> None:
    """Version managers are clones, and some people keep their home in git."""
    _program(home / ".pyenv/shims/python")
    _program(home / "sdk/bin/tool")
    (home / "sdk/lib").mkdir()
    _repository(home / ".pyenv", "plain")
    _repository(home, "plain")
    assert found(home, home / ".pyenv/shims", home / "sdk/bin") == {"~/.pyenv", "~/sdk"}
    assert toolchains.alone(str(home / "sdk/bin"), home=str(home)) == ()


def test_nothing_of_the_state_folder_is_shown_not_even_an_environment(home: Path) -> None:
    python = _program(home / ".pyenv/versions/3.12/bin/python3.12")
    tree = _environment(home / "state/workspaces/fox/.venv", python)
    assert found(home, tree / "bin", never=(str(home / "state"),)) == {"~/.pyenv"}


def test_something_installed_is_shown_with_its_libraries(home: Path, tmp_path: Path) -> None:
    _program(tmp_path / "sdk/bin/tool")
    (tmp_path / "sdk/lib").mkdir()
    assert toolchains.find(str(tmp_path / "sdk/bin"), home=str(home)) == (str(tmp_path / "sdk"),)


def test_a_folder_that_is_a_link_is_shown_under_both_names(home: Path, tmp_path: Path) -> None:
    _program(home / ".nvm/versions/node/v22/bin/node")
    (tmp_path / "shell").symlink_to(home / ".nvm/versions/node/v22")
    shown = toolchains.find(str(tmp_path / "shell/bin"), home=str(home))
    assert shown == (str(home / ".nvm"), str(tmp_path / "shell/bin"))


def test_links_in_a_circle_end_the_search(home: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin/a").symlink_to(home / "bin/b")
    (home / "bin/b").symlink_to(home / "bin/a")
    assert found(home, home / "bin", programs=(str(home / "bin/a"),)) == {"~/bin"}


def test_managers_are_told_where_they_are_because_home_is_another(home: Path) -> None:
    (home / ".pyenv/shims").mkdir(parents=True)
    (home / ".rustup").mkdir()
    (home / ".nvm").mkdir()
    path = os.pathsep.join([str(home / ".pyenv/shims"), str(home / ".cargo/bin")])
    told = toolchains.variables(path, home=str(home))
    assert told == {"PYENV_ROOT": str(home / ".pyenv"), "RUSTUP_HOME": str(home / ".rustup")}
