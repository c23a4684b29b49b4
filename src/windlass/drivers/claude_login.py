"""What a session of Claude Code logs in with, and which of it a box may hold.

In a configuration folder of ours there is no login. A token or a gateway's own word goes to the
program itself; an API key never does in a box: there the daemon asks the model in its place.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from windlass.core.driver_request import ModelAccess, SessionRequest
from windlass.core.errors import ConfigError
from windlass.core.session_launch import MODEL_PORT

KEY, BEARER, TOKEN = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"
CREDENTIALS = (KEY, BEARER, TOKEN)
CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
API = "https://api.anthropic.com"
ADDRESS = "ANTHROPIC_BASE_URL"
HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
_NAME = re.compile(r"[a-z0-9_-]+")
_HOPS = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "transfer-encoding", "x-api-key"}
)
"""What is said anew at every hop, and what the key goes by."""
_NEVER_BESIDE_A_RELAY = (
    *CREDENTIALS,
    HEADERS,
    "ANTHROPIC_FOUNDRY_API_KEY",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
)
_TITLES = {
    KEY: "API key",
    BEARER: "gateway token",
    CLOUDS[0]: "Bedrock",
    CLOUDS[1]: "Vertex",
    CLOUDS[2]: "Foundry",
}
"""What people call what is billed."""
_A_KEY = "sk-ant-api"
_OF_A_SUBSCRIPTION = "sk-ant-oat"
"""How a token begins that `claude setup-token` makes: never to be sent as an API key."""


def secrets(request: SessionRequest) -> dict[str, str]:
    """The variables whose values lie in files that the person named."""
    named = {
        TOKEN: request.options.get("token_file", ""),
        KEY: request.options.get("api_key_file", ""),
    }
    return {name: path for name, path in named.items() if path}


def credential(request: SessionRequest, *, is_own: bool) -> str:
    """What of variables and files pays for a session; nothing where its own login does.

    A variable goes before a file, and what is billed before a subscription's token. The files are
    for configuration folders of ours.
    """
    named = secrets(request) if is_own else {}
    for name, title in _TITLES.items():
        if request.env.get(name):
            return title
    if KEY in named:
        return _TITLES[KEY]
    return "subscription token" if TOKEN in named or request.env.get(TOKEN) else ""


def handed_over(request: SessionRequest) -> dict[str, str]:
    """Those of `secrets` that the program itself gets."""
    named = secrets(request)
    if is_relayed(request):
        return {}
    if request.boxed:
        named.pop(KEY, None)  # what pays is something else
    return named


def is_relayed(request: SessionRequest) -> bool:
    """Whether the daemon asks the model for a session: one in a box that a key pays for."""
    if not request.boxed or request.env.get(BEARER):
        return False
    return KEY in secrets(request) or bool(request.env.get(KEY, "").strip())


def access(request: SessionRequest) -> ModelAccess | None:
    """How the daemon asks the model for it: with the key as it is now."""
    if not is_relayed(request):
        return None
    key = api_key(request)
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigError(
            "the API key is empty, or no line of text",
            "save it alone in a file: wl config set claude.api_key_file FILE --global",
        )
    if key.startswith(_OF_A_SUBSCRIPTION):
        raise ConfigError(
            "what is configured as an API key is a subscription's token",
            "give it to Claude Code itself: wl config set claude.token_file FILE --global",
        )
    url = request.env.get(ADDRESS) or API
    return ModelAccess(url=url, headers={**_added(request.env.get(HEADERS, "")), "x-api-key": key})


def environment(request: SessionRequest, env: dict[str, str]) -> dict[str, str]:
    """What a boxed session's environment says of its login; no key is left in it."""
    if is_relayed(request):
        kept = {k: v for k, v in env.items() if k not in _NEVER_BESIDE_A_RELAY}
        return {**kept, ADDRESS: f"http://127.0.0.1:{MODEL_PORT}", KEY: request.relay_token}
    return {k: v for k, v in env.items() if k != KEY}


def approved_key(request: SessionRequest) -> str | None:
    """The key that the program is to take without asking about it.

    Refuses a session that the daemon would have to ask the model for without one.
    """
    if request.boxed:
        return request.relay_token if access(request) else None
    return api_key(request)


def api_key(request: SessionRequest) -> str | None:
    """The key itself."""
    path = secrets(request).get(KEY)
    if path is None:
        return request.env.get(KEY, "").strip() or None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"claude.api_key_file: {path} cannot be read: {error}",
            "name a file that holds the key alone: wl config set claude.api_key_file FILE",
        ) from None


def token_problem(token: str) -> str:
    """What is wrong with a token that a person gave."""
    return "it is an API key" if token.startswith(_A_KEY) else ""


def is_there(request: SessionRequest) -> bool:
    """Whether there is anything to log in with."""
    return bool(secrets(request) or _variables(request))


def require(request: SessionRequest) -> None:
    """Refuses a session that has nothing to log in with in a folder of its own."""
    named = secrets(request)
    clouds = [name for name in CLOUDS if request.env.get(name)]
    if request.boxed and clouds and not named:
        raise ConfigError(
            f"{clouds[0]} takes its credentials from your home, which a box does not show",
            "use a token or a key in boxes: wl config set claude.api_key_file FILE --global",
        )
    if not is_there(request):
        raise ConfigError(
            "Claude Code has nothing to log in with in a configuration folder of its own",
            "have a token made by `claude setup-token`, and kept: wl doctor --fix; or save one in a"
            " file that only you can read: wl config set claude.token_file FILE --global",
        )
    for name, path in named.items():
        key = "token_file" if name == TOKEN else "api_key_file"
        if not os.access(path, os.R_OK) or not Path(path).is_file():
            raise ConfigError(
                f"claude.{key}: {path} cannot be read",
                f"name a file that holds it alone: wl config set claude.{key} FILE --global",
            )
    if is_relayed(request):
        access(request)


def _variables(request: SessionRequest) -> list[str]:
    return [name for name in (*CREDENTIALS, *CLOUDS) if request.env.get(name)]


def _added(lines: str) -> dict[str, str]:
    """Headers that the person has every request carry, as the program itself reads them."""
    pairs = (line.partition(":") for line in lines.splitlines())
    added = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return {
        name: value
        for name, value in added.items()
        if _NAME.fullmatch(name) and name not in _HOPS and value.isascii() and value.isprintable()
    }
