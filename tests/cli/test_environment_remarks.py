"""A command that starts sessions says what these have otherwise than its terminal."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from windlass.api import daemon_record
from windlass.cli.call import Call
from windlass.core.errors import DriverError


@pytest.mark.parametrize("quiet", [False, True])
def test_it_is_said_also_where_the_command_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    *,
    quiet: bool,
) -> None:
    for name in ("WINDLASS_SESSION", "WINDLASS_BOXED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path))
    daemon_record.keep_start()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sesame")
    call = Call(Namespace(quiet=quiet))
    with pytest.raises(DriverError), call.remarks_on_environment():
        raise DriverError("no `claude` on PATH", "install it")
    said = capsysbinary.readouterr().err.decode()
    assert "sesame" not in said
    assert ("ANTHROPIC_API_KEY: not as in this terminal" in said) is not quiet
    assert ("wl daemon stop && wl daemon start" in said) is not quiet
