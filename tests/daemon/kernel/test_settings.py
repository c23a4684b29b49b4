"""Where a configuration is read from, and what stands in the place of its files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windlass.core.errors import ConfigError
from windlass.daemon.kernel import settings


def test_the_persons_own_file_may_be_a_link_and_stays_one(tmp_path: Path) -> None:
    """People keep such files together, elsewhere."""
    kept = tmp_path / "dotfiles" / "windlass.toml"
    kept.parent.mkdir()
    kept.write_text('model = "large"\n')
    own = tmp_path / settings.USER_FILE
    own.symlink_to(kept)
    assert settings.load(tmp_path, None).model == "large"
    settings.put(own, "model", "small")
    assert own.is_symlink()
    assert settings.load(tmp_path, None).model == "small"
    assert kept.read_text() == 'model = "small"\n'


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_what_is_no_file_in_its_place_is_said(tmp_path: Path, make: object) -> None:
    make(tmp_path / settings.USER_FILE)  # type: ignore[operator]
    with pytest.raises(ConfigError, match="is no file, or leads to none"):
        settings.load(tmp_path, None)


def test_a_repositorys_list_of_files_to_bring_along_waits_with_its_own_key(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("")
    repo = tmp_path / "repo"
    (repo / ".windlass").mkdir(parents=True)
    (repo / ".windlass/config.toml").write_text('[workspace]\ninclude = ["a"]\n')
    (repo / ".worktreeinclude").write_text("# secrets\n.env  \n\nodd\\ \n")
    known = settings.usable(tmp_path, str(repo))
    (line,) = known.waiting
    assert (line.key, line.value) == ("workspace.include", ["a", ".env", "odd\\ "])
    assert known.config.workspace.include == []
    assert known.at("box").workspace.include == []


def test_a_list_that_is_no_text_is_wrong_configuration(tmp_path: Path) -> None:
    (tmp_path / ".worktreeinclude").write_bytes(b"\xff\n")
    with pytest.raises(ConfigError, match="worktreeinclude is no text"):
        settings.load(tmp_path, str(tmp_path))


def test_a_list_that_is_not_set_goes_on_from_its_default(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    assert settings.take(file, "claude.bring", "skills") == ["CLAUDE.md", "commands", "agents"]
    file.unlink()
    assert settings.add(file, "claude.bring", "rules")[-2:] == ["agents", "rules"]
    assert settings.add(file, "claude.bring", "agents")[-2:] == ["agents", "rules"]
