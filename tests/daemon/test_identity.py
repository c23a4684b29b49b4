"""What client and daemon compare changes whenever they could misunderstand each other."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from tests.support.replies import ROUTES
from tests.support.serving import served

from windlass.api import client, daemon_start, identity
from windlass.api.verbs import Verb
from windlass.core.errors import Unavailable
from windlass.core.schema import SCHEMA


def digest_of_requests_and_replies() -> str:
    """A digest of what every verb takes and gives, whatever is said about it in words."""
    verbs = sorted(ROUTES)
    kinds = [kind for verb in verbs for kind in (ROUTES[verb].request, ROUTES[verb].reply)]
    schema = [verbs, *msgspec.json.schema_components(kinds)]
    return hashlib.sha256(json.dumps(_wordless(schema), sort_keys=True).encode()).hexdigest()[:8]


def _wordless(schema: Any) -> Any:
    if isinstance(schema, dict):
        described = isinstance(schema.get("description"), str)
        return {
            name: _wordless(part)
            for name, part in schema.items()
            if not (described and name == "description")
        }
    return [_wordless(part) for part in schema] if isinstance(schema, list | tuple) else schema


def test_the_identity_has_the_digest_of_all_requests_and_replies() -> None:
    """If this fails, write the digest of the message into `api/identity.py`."""
    assert digest_of_requests_and_replies() == identity.WIRE


def test_a_client_of_the_same_version_that_speaks_otherwise_is_not_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verb = Verb(dict[str, Any], dict[str, Any], lambda _caller, _request: {}, callers="both")
    with served({"whoami": verb}) as place:
        assert place.ask("person", "whoami", {}) == {}
        monkeypatch.setattr(
            client, "IDENTITY", identity.IDENTITY.replace(identity.WIRE, "otherwise")
        )
        with pytest.raises(client.VersionMismatch):
            place.ask("person", "whoami", {})


def test_an_older_client_of_the_same_schema_is_served_and_an_agents_of_any_age(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verb = Verb(dict[str, Any], dict[str, Any], lambda _caller, _request: {}, callers="both")
    _, _, rest = identity.IDENTITY.partition("+")
    other = SCHEMA + 1

    def served_to(who: str, theirs: str) -> bool:
        monkeypatch.setattr(client, "IDENTITY", theirs)
        try:
            return bool(place.ask(who, "whoami", {}) == {})
        except client.VersionMismatch:
            return False

    with served({"whoami": verb}) as place:
        assert served_to("person", f"0.0.9+{SCHEMA}.00000000")
        assert not served_to("person", f"0.0.9+{other}.00000000")
        assert not served_to("person", f"99.0+{rest}")
        assert served_to("agent", f"99.0+{SCHEMA}.00000000")
        assert not served_to("agent", f"99.0+{other}.00000000")


def test_an_older_command_never_takes_the_place_of_a_newer_daemon() -> None:
    with pytest.raises(Unavailable, match="newer"):
        daemon_start.replace(client.VersionMismatch("99.0", SCHEMA))
