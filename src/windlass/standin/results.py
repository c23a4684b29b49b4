"""The line that ends a headless turn: what it came to and what it cost."""

from __future__ import annotations

from typing import Any

from windlass.standin.conversation import Conversation
from windlass.standin.face import Turn
from windlass.standin.price import cost
from windlass.standin.transcript import new_id

CONTEXT_WINDOW = 200_000
LONGEST_REPLY = 32_000


def result_line(talk: Conversation, turn: Turn) -> dict[str, Any]:
    """Returns the result of a turn; usage is the turn's, cost and models are the process's."""
    result: dict[str, Any] = {
        "type": "result",
        "subtype": turn.subtype,
        "is_error": turn.is_error,
        "duration_ms": turn.duration_ms,
        "duration_api_ms": turn.duration_ms,
        "num_turns": 1 + turn.answered if turn.begun else 0,
        "stop_reason": turn.stop_reason,
        "session_id": talk.session,
        "total_cost_usd": cost(talk.spent),
        "usage": turn.usage,
        "modelUsage": {talk.model: _model_usage(talk.spent)},
        "permission_denials": turn.denials,
        "uuid": new_id(),
    }
    if turn.terminal_reason:
        result["terminal_reason"] = turn.terminal_reason
    if turn.subtype == "success":
        result["api_error_status"] = turn.api_error_status
        result["result"] = turn.text
    else:
        result["errors"] = turn.errors
    if turn.origin != "prompt":
        result["origin"] = {"kind": "task-notification"}
    return result


def _model_usage(spent: dict[str, int]) -> dict[str, Any]:
    return {
        "inputTokens": spent["input_tokens"],
        "outputTokens": spent["output_tokens"],
        "cacheReadInputTokens": spent["cache_read_input_tokens"],
        "cacheCreationInputTokens": spent["cache_creation_input_tokens"],
        "costUSD": cost(spent),
        "contextWindow": CONTEXT_WINDOW,
        "maxOutputTokens": LONGEST_REPLY,
    }
