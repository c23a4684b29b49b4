from __future__ import annotations

import platform
from pathlib import Path

import pytest

from windlass.box import bwrap, probes


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bubblewrap that fails as the real one does where namespaces are restricted."""
    real = bwrap.find()
    program = tmp_path / "bwrap"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *--version*) echo "bubblewrap 0.9.0"; exit;; esac\n'
        'tr "\\0" "\\n" </proc/self/fd/8 | grep -q -x -e --unshare-net'
        f' || exec {real} "$@"\n'
        'echo "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" >&2; exit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return program


def test_this_machine_has_the_whole_box() -> None:
    """Everything else in these tests needs it."""
    assert probes.usable() == (True, True, "", "")
    first = probes.box()[0]
    assert (first.name, first.works, first.fix) == ("bubblewrap", True, "")


def test_without_bubblewrap_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap, "find", lambda: None)
    (first, _) = probes.box()
    assert not first.works
    assert first.detail == "bubblewrap is not installed"
    assert "bubblewrap" in first.fix


@pytest.mark.usefixtures("broken")
def test_a_failure_is_told_in_its_own_words() -> None:
    first, second, *_ = probes.box()
    assert not first.works
    assert "RTM_NEWADDR" in first.detail
    assert (second.name, second.works) == ("bubblewrap, host network", True)


def test_one_that_does_not_run_at_all_says_so_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: libcap.so.2: no such file' >&2; exit 127\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    first, *rest = probes.box()
    assert (first.works, first.detail) == (False, "bwrap: libcap.so.2: no such file")
    assert "bubblewrap" in first.fix
    assert [probe.name for probe in rest] == ["limits"], "the same is not said twice"
    program.write_text("#!/bin/sh\necho bubblewrap 0.3.1\n")
    (first, _) = probes.box()
    assert first.detail == f"{program} is too old: 0.3.1", "what is installed since is seen"


@pytest.mark.parametrize(
    ("switch", "value", "fix"),
    [
        ("_APPARMOR_SWITCH", "1", "AppArmor"),
        ("_CLONE_SWITCH", "0", "kernel.unprivileged_userns_clone=1"),
        ("_MOST_NAMESPACES", "0", "user.max_user_namespaces"),
    ],
)
@pytest.mark.usefixtures("broken")
def test_the_switch_that_stands_in_the_way_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str, value: str, fix: str
) -> None:
    for name in ("_APPARMOR_SWITCH", "_CLONE_SWITCH", "_MOST_NAMESPACES"):
        monkeypatch.setattr(probes, name, tmp_path / name)
    (tmp_path / switch).write_text(f"{value}\n")
    first, *_ = probes.box()
    assert fix in first.fix
    if switch == "_APPARMOR_SWITCH":
        assert "userns," in first.fix
        assert str(tmp_path / "bwrap") in first.fix


def test_landlock_is_reported() -> None:
    assert probes.landlock().works == (
        platform.system() == "Linux" and probes.landlock().detail.startswith("ABI")
    )


def test_limits_of_whole_boxes_are_reported() -> None:
    found = probes.limits()
    assert found.name == "limits"
    assert found.works or found.fix
