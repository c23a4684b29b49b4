"""The roles of a repository: which there are, what each is, and what its agents are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import REPO

from windlass.api.verbs import Caller
from windlass.core.errors import ConfigError, NotFound
from windlass.core.ids import RoleName, Uid
from windlass.core.roles import Role
from windlass.daemon.gate.checks import Checks, Slots
from windlass.daemon.gate.proofs import Proofs
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.launch import instructions
from windlass.daemon.setup import routes as setup
from windlass.daemon.setup.configuration import Configuration
from windlass.daemon.setup.init import Inits
from windlass.daemon.setup.repositories import Repositories
from windlass.daemon.setup.trust import ProjectTrust
from windlass.daemon.views import roles as views
from windlass.project import role_files
from windlass.store import rows

REVIEWER = RoleName("reviewer")


@pytest.fixture
def shop(context: Context) -> Path:
    made = context.folders.home / "shop"
    (made / role_files.FOLDER).mkdir(parents=True)
    return made


def write(shop: Path, name: str, text: str) -> None:
    (shop / role_files.FOLDER / f"{name}.md").write_text(text)


def configure(context: Context, shop: Path, *, person: str = "", project: str = "") -> None:
    (context.folders.home / "config.toml").write_text(person)
    (shop / settings.PROJECT_FILE).write_text(project)


def names(context: Context, shop: Path) -> list[str]:
    root = str(shop)
    return list(role_files.known(settings.load(context.folders.home, root), root))


def found(context: Context, shop: Path, name: str = REVIEWER) -> tuple[Role, tuple[str, ...]]:
    root = str(shop)
    return role_files.find(settings.load(context.folders.home, root), root, name)


def told(context: Context, role: str = REVIEWER) -> str:
    """What an agent of that role is told at its start."""
    agent = an_agent("kit", repo=REPO, role=role, branch="agent/kit")
    context.folders.instructions(agent.uid).parent.mkdir(parents=True, exist_ok=True)
    instructions.write(context, agent)
    return instructions.kept(context, agent)


def test_roles_are_shipped_configured_or_have_a_file(context: Context, shop: Path) -> None:
    assert names(context, shop) == ["manager", "worker"]
    configure(context, shop, person="[roles.keeper]\n", project="[roles.auditor]\n")
    for name in ("all", "reviewer", "worker", "Loud", "no_role"):
        write(shop, name, "words")
    (shop / role_files.FOLDER / "notes.txt").write_text("words")
    assert names(context, shop) == ["manager", "worker", "auditor", "keeper", "reviewer"]


def test_a_role_that_nobody_knows_is_refused_with_those_that_are(
    context: Context, shop: Path
) -> None:
    write(shop, "auditor", "words")
    with pytest.raises(NotFound, match=r"no role .*manager, worker, auditor") as refused:
        found(context, shop)
    assert ".windlass/roles/reviewer.md" in refused.value.hint
    with pytest.raises(NotFound, match="no role 'all'"):
        found(context, shop, "all")
    with pytest.raises(NotFound, match=r"no role '\.\./x'") as refused:
        found(context, shop, "../x")
    assert "small letters" in refused.value.hint


def test_a_file_makes_a_role_that_is_told_it_after_what_everybody_is(
    context: Context, shop: Path
) -> None:
    write(shop, "reviewer", "---\ndescription: finds faults\nreadonly: true\n---\nRead first.\n")
    assert found(context, shop) == (
        Role(name=REVIEWER, readonly=True, about="finds faults"),
        (),
    )
    said = told(context)
    assert said.startswith("<windlass>You are a Windlass reviewer agent.</windlass>\n")
    assert said.endswith("\n\nRead first.\n")
    assert "Your work as a" not in said


def test_a_file_follows_the_shipped_text_or_replaces_it(context: Context, shop: Path) -> None:
    write(shop, "worker", "Be brief.")
    said = told(context, "worker")
    assert "# Your work as a worker" in said
    assert said.endswith("\n\nBe brief.\n")
    write(shop, "worker", "---\nreplace: true\n---\nBe brief.")
    said = told(context, "worker")
    assert "# Your work as a worker" not in said
    assert "# Ending a turn" in said
    assert said.endswith("\n\nBe brief.\n")


def test_a_file_that_asks_for_more_is_not_given_it(context: Context, shop: Path) -> None:
    write(shop, "reviewer", "---\nspawns: true\npersistent: true\n---\n")
    configure(context, shop, project="[roles.reviewer]\nspawns = true\npersistent = true\n")
    assert found(context, shop) == (Role(name=REVIEWER), ("spawns", "persistent"))
    configure(context, shop, person="[roles.reviewer]\nspawns = true\n")
    assert found(context, shop) == (Role(name=REVIEWER, spawns=True), ("persistent",))
    write(shop, "worker", "---\nspawns: true\n---\n")
    assert not found(context, shop, "worker")[0].spawns


def test_a_file_may_take_from_a_shipped_role(context: Context, shop: Path) -> None:
    assert found(context, shop, "manager")[0].spawns
    write(shop, "manager", "---\nspawns: false\n---\n")
    assert not found(context, shop, "manager")[0].spawns


def test_a_file_that_cannot_be_read_is_named_with_its_line_and_hides_no_other(
    context: Context, shop: Path
) -> None:
    write(shop, "reviewer", "---\ndescription: x\nspawn: true\n---\n")
    place = str(shop / role_files.FOLDER / "reviewer.md")
    with pytest.raises(ConfigError) as refused:
        found(context, shop)
    assert refused.value.message == f"{place}:3: unknown key 'spawn'"
    with pytest.raises(ConfigError):
        told(context)
    listed = views.listed(context, Caller(None), {"cwd": str(shop)})
    assert [one["name"] for one in listed] == ["manager", "worker", "reviewer"]
    assert [one["problem"] for one in listed] == ["", "", f"{place}:3: unknown key 'spawn'"]


def test_keys_of_any_role_are_set_added_to_listed_and_removed(context: Context, shop: Path) -> None:
    configuration = Configuration(context)
    intents = Intents(context, [configuration.operation()])
    jobs = Jobs(context, intents)
    verbs = setup.routes(
        context,
        intents,
        configuration,
        inits=Inits(context, Proofs(context, jobs, Checks(context, Slots(1)))),
        repositories=Repositories(context),
        trust=ProjectTrust(context),
    )

    def ask(
        verb: str, key: str | None = None, value: str | None = None, *, user: bool = False
    ) -> Any:
        given = {"config_key": key, "value": value}
        said = {name: word for name, word in given.items() if word is not None}
        return verbs[verb].answer(Caller(None), {"cwd": str(shop), "user": user, **said})

    ask("config.set", "roles.reviewer.model", "small")
    ask("config.add", "permissions.reviewer.allow", "Read")
    listed = ask("config")["settings"]
    assert listed["roles.reviewer.model"]["value"] == "small"
    assert listed["permissions.reviewer.allow"]["value"] == ["Read"]
    assert "roles.reviewer.driver" not in listed
    ask("config.set", "roles.reviewer.spawns", "true", user=True)
    assert found(context, shop)[0].spawns
    ask("config.set", "roles.reviewer.spawns", "false")
    assert not found(context, shop)[0].spawns
    ask("config.remove", "roles.reviewer.spawns")
    assert found(context, shop)[0].spawns
    ask("config.remove", "roles.reviewer.spawns", user=True)
    ask("config.set", "roles.reviewer.spawns", "true")
    assert found(context, shop)[0].spawns, "who types it has seen it"


def test_what_a_role_was_at_an_agents_start_stays_with_it(context: Context) -> None:
    agent = an_agent("kit", repo=REPO, role="lead", spawns=True, readonly=True, persistent=True)
    context.store.write(lambda w: whole_rows.put_agent(w, agent))
    kept = context.store.read(lambda c: rows.agent(c, Uid("kit")))
    assert kept == agent
