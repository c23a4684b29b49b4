"""`/compact`: the conversation goes on from a summary, which here sums up nothing."""

from __future__ import annotations

from windlass.standin.conversation import Conversation
from windlass.standin.face import UserMessage

COMMAND = "/compact"
SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\n"
)


def is_command(message: UserMessage) -> bool:
    """Says whether a message is one that the program obeys and the model never hears."""
    return message.origin == "prompt" and message.text.split(maxsplit=1)[:1] == [COMMAND]


def compact(talk: Conversation, message: UserMessage) -> bool:
    """Sums the conversation up; returns False when there is nothing to sum up."""
    talk.new_prompt()
    wishes = message.text.removeprefix(COMMAND).strip()
    talk.fire("PreCompact", trigger="manual", custom_instructions=wishes or None)
    if not talk.cursor.begun:
        return False
    summary = f"The goal was: {talk.goal}"
    talk.mark(
        "compact_boundary",
        content="Conversation compacted",
        compactMetadata={"trigger": "manual", "preTokens": 0},
    )
    content = {"role": "user", "content": SUMMARY + summary}
    talk.transcript.add("user", message=content, isMeta=True, isCompactSummary=True)
    started = talk.fire("SessionStart", source="compact", model=talk.model)
    talk.add_contexts("SessionStart", started.contexts, react=False)
    talk.fire("PostCompact", trigger="manual", compact_summary=summary)
    return True
