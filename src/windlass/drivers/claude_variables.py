"""Which of the person's variables Claude Code has in a box: a list of what may pass.

Each is one that it documents, for its model or its behaviour. A variable that merely has its prefix
may be a key to something else, as `ANTHROPIC_ADMIN_KEY` is to a whole organisation; a cloud's
credentials have no use in a box. Whoever needs another names it in `box.env`.
"""

from __future__ import annotations

from windlass.drivers import claude_login

_LOGIN = (
    *claude_login.CREDENTIALS,
    *claude_login.CLOUDS,
    claude_login.ADDRESS,
    claude_login.HEADERS,
)
"""What `claude_login` decides on: no key goes in, nor what else the daemon says in its place."""
_MODELS = (
    "ANTHROPIC_BETAS",
    "ANTHROPIC_CUSTOM_MODEL_OPTION",
    "ANTHROPIC_CUSTOM_MODEL_OPTION_DESCRIPTION",
    "ANTHROPIC_CUSTOM_MODEL_OPTION_NAME",
    "ANTHROPIC_CUSTOM_MODEL_OPTION_SUPPORTED_CAPABILITIES",
    "ANTHROPIC_DEFAULT_MODEL",
    *(
        f"ANTHROPIC_DEFAULT_{family}_MODEL{what}"
        for family in ("FABLE", "HAIKU", "OPUS", "SONNET")
        for what in ("", "_DESCRIPTION", "_NAME", "_SUPPORTED_CAPABILITIES")
    ),
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "MAX_THINKING_TOKENS",
)
_LIMITS = (
    "API_TIMEOUT_MS",
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY",
)
_SWITCHES = (
    "CLAUDE_CODE_DISABLE_*",
    "CLAUDE_CODE_SKIP_FAST_MODE_NETWORK_ERRORS",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_AUTO_COMPACT",
    "DISABLE_*_COMMAND",
    "DISABLE_COMPACT",
    "DISABLE_COST_WARNINGS",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_GROWTHBOOK",
    "DISABLE_INSTALLATION_CHECKS",
    "DISABLE_INTERLEAVED_THINKING",
    "DISABLE_PROMPT_CACHING",
    "DISABLE_PROMPT_CACHING_*",
    "DISABLE_TELEMETRY",
    "DISABLE_UPDATES",
)
IN_BOXES = (*_LOGIN, *_MODELS, *_LIMITS, *_SWITCHES)
