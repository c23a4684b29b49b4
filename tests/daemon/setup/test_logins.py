"""A token that is kept for an agent CLI."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.contexts import Turned, lent

from windlass.api.verbs import Caller
from windlass.core.config import Config
from windlass.core.errors import UserError
from windlass.daemon.kernel import kept_tokens, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request
from windlass.daemon.setup.logins import Logins

TOKEN = "sk-ant-oat01-" + "x" * 80
PERSON = Caller(None)


@pytest.fixture
def context() -> Iterator[Context]:
    """A state folder."""
    with lent(Turned()) as made:
        yield made


def test_a_token_is_kept_for_the_user_alone_and_sessions_are_told_where(context: Context) -> None:
    logins = Logins(context)
    kept = logins.keep(PERSON, {"driver": "claude", "token": f" {TOKEN}\n"})
    assert kept["kept_at"] is not None
    file = context.folders.home / "tokens" / "claude"
    assert file.read_text() == f"{TOKEN}\n"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    draft = session_request.draft(context, "claude", mode="live", root="/", config=Config())
    assert draft.options["token_file"] == str(file)
    assert logins.forget(PERSON, {"driver": "claude"})["kept_at"] is None
    assert not kept_tokens.forget(context.folders, "claude")
    draft = session_request.draft(context, "claude", mode="live", root="/", config=Config())
    assert draft.options["token_file"] == ""


def test_a_file_that_the_person_named_goes_before_what_is_kept(context: Context) -> None:
    Logins(context).keep(PERSON, {"driver": "claude", "token": TOKEN})
    (context.folders.home / "config.toml").write_text('[claude]\ntoken_file = "/named"\n')
    config = settings.load(context.folders.home, None)
    draft = session_request.draft(context, "claude", mode="live", root="/", config=config)
    assert "/named" in draft.options.values()


@pytest.mark.parametrize("what", ["", "short", "two words of it " * 4, "sk-ant-api03-" + "x" * 80])
def test_what_is_no_token_is_not_kept(context: Context, what: str) -> None:
    with pytest.raises(UserError, match="this is no token"):
        Logins(context).keep(PERSON, {"driver": "claude", "token": what})
    assert kept_tokens.kept_at(context.folders, "claude") is None


def test_a_driver_that_takes_none_gets_none(context: Context) -> None:
    with pytest.raises(UserError, match="standin takes no token"):
        Logins(context).keep(PERSON, {"driver": "standin", "token": TOKEN})
