"""Which of the person's variables Claude Code has in a box."""

from __future__ import annotations

from pathlib import Path

import pytest

from windlass.daemon.launch.environment import for_box
from windlass.drivers.claude import ClaudeDriver

SECRET = (
    "ANTHROPIC_ADMIN_KEY",
    "ANTHROPIC_ADMIN_API_KEY",
    "ANTHROPIC_API_KEY_OLD",
    "ANTHROPIC_AWS_API_KEY",
    "ANTHROPIC_DEFAULT_KEY",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_WEBHOOK_SIGNING_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "CLAUDE_API_KEY",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_CODE_MAX_PLAN_TOKEN",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
    "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
    "CLAUDE_CODE_SKIP_LOGIN_TOKEN",
    "CLAUDE_CODE_USE_TOKEN",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "DISABLE_ALARM_TOKEN",
    "GEMINI_API_KEY",
    "GITHUB_TOKEN",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "MCP_CLIENT_SECRET",
    "OPENAI_API_KEY",
    "OTEL_EXPORTER_OTLP_HEADERS",
)
DOCUMENTED = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BETAS",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL_SUPPORTED_CAPABILITIES",
    "ANTHROPIC_MODEL",
    "API_TIMEOUT_MS",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "DISABLE_FEEDBACK_COMMAND",
    "DISABLE_PROMPT_CACHING_HAIKU",
    "DISABLE_TELEMETRY",
    "MAX_THINKING_TOKENS",
)


def passes(name: str, *also: str) -> bool:
    """Whether a variable of the person's comes into a box of Claude Code's."""
    home = Path("/state")
    wanted = (*ClaudeDriver.variables, *also)
    return name in for_box({name: "of the person"}, home=home, private=home / "home", also=wanted)


@pytest.mark.parametrize("name", SECRET)
def test_what_opens_something_else_stays_outside_unless_a_person_names_it(name: str) -> None:
    assert not passes(name)
    if not name.startswith("CLAUDE"):  # these say whose session it is that the daemon began in
        assert passes(name, name)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_says_how_claude_code_works_comes_in(name: str) -> None:
    assert passes(name)
