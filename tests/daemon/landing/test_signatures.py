"""Who wants commits signed has nothing land unsigned without having said that it may."""

from __future__ import annotations

import pytest
from tests.daemon.landing.landing_ground import LandingGround

from windlass.core.errors import ConfigError
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos, settings


def allow(ground: LandingGround) -> None:
    """The person says that landings may go unsigned."""
    settings.put(ground.context.folders.home / settings.USER_FILE, "landing.unsigned", value=True)


def test_nothing_is_proposed_until_the_person_allows_it(ground: LandingGround) -> None:
    """It is said what is wanted, and what to type."""
    ground.git("config", "commit.gpgsign", "true")
    ground.git("-c", "commit.gpgsign=false", "branch", "mine")
    with pytest.raises(ConfigError, match=r"commit\.gpgsign") as refused:
        ground.submit("mine")
    assert "wl config set landing.unsigned true --global" in (refused.value.hint or "")
    allow(ground)
    ground.git("config", "commit.gpgsign", "false")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.git("config", "commit.gpgsign", "yes")
    name = ground.submit("mine")
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert "gpgsig" not in ground.git("cat-file", "commit", "main")


@pytest.mark.parametrize("step", ["landing.try.try.before", "landing.land.plan.before"])
def test_what_waits_when_the_person_begins_to_sign_is_held(
    ground: LandingGround, step: str
) -> None:
    """Also when it was proven already; main stays, and the change says what to type."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    before = ground.git("rev-parse", "main")
    reached = ground.context.failpoints.reached

    def then(name: str) -> None:
        if name == step:
            ground.git("config", "commit.gpgsign", "true")
        reached(name)

    ground.context.failpoints.reached = then  # type: ignore[method-assign]
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert (shown["state"], ground.git("rev-parse", "main")) == ("held", before)
    assert "wl config set landing.unsigned true --global" in shown["why"]
    allow(ground)
    ground.judge("change.retry", name)
    ground.settle()
    assert ground.change(name)["state"] == "landed"


def test_signing_that_is_switched_off_is_no_wish(ground: LandingGround) -> None:
    """Git takes more words than one for it."""
    repo = repos.by_id(ground.context, ground.proofs_repo)
    for word, is_wanted in (("false", False), ("off", False), ("no", False), ("on", True)):
        ground.git("config", "commit.gpgsign", word)
        assert bool(gates.unsigned(ground.context, repo)) is is_wanted, word
