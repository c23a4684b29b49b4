"""What the environment of whoever begins the work says of roles."""

from __future__ import annotations

import pytest

from windlass.core.config import Config
from windlass.core.config_roles import RoleSettings
from windlass.core.errors import UserError
from windlass.core.ids import RoleName
from windlass.core.runs import overrides


def test_variables_are_about_the_role_that_they_name_and_go_before_its_configuration() -> None:
    env = {
        "WINDLASS_SECURITY_AUDIT_MAX_TURNS": "30",
        "WINDLASS_SECURITY_AUDIT_SUPERVISOR_INTERVAL": "0",
        "WINDLASS_WORKER_MAX_ITERATIONS": " 4 ",
        "WINDLASS_HOME": "/somewhere",
        "OTHER_WORKER_MAX_TURNS": "many",
    }
    said = overrides.read(overrides.in_environment(env))
    assert said == {
        "SECURITY_AUDIT": {"turns": 30, "supervisor_interval": 0},
        "WORKER": {"iterations": 4},
    }
    configured = Config(roles={RoleName("security-audit"): RoleSettings(turns=7, iterations=8)})
    audit = overrides.applied(configured, "security-audit", said).roles[RoleName("security-audit")]
    assert (audit.turns, audit.iterations) == (30, 8)
    assert overrides.applied(configured, "docs", said) == configured


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1.5", "٣", "9" * 30])
def test_what_is_no_number_is_refused_with_the_name_of_the_variable(text: str) -> None:
    with pytest.raises(UserError, match="WINDLASS_WORKER_MAX_TURNS"):
        overrides.read([f"WINDLASS_WORKER_MAX_TURNS={text}"])


def test_a_variable_that_is_about_no_role_is_refused() -> None:
    with pytest.raises(UserError, match="PATH"):
        overrides.read(["PATH=/bin"])
