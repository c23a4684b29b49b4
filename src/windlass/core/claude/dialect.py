"""The dialect of Claude Code, which the stand-in speaks as well.

One table of where each part of `core.dialect.Dialect` is done; that describes what each promises.
"""

from __future__ import annotations

from windlass.core.claude import (
    hooks,
    input_lines,
    observations,
    rate_limits,
    screen,
    stream,
    transcript,
    usage,
)
from windlass.core.dialect import Keys
from windlass.core.policy import tool_calls


class ClaudeDialect:
    """What Claude Code writes and shows, and what it understands."""

    keys = Keys(submit="Enter", interrupt="Escape", clear="C-c")
    telltales = screen.TELLTALES

    hook_names = hooks.NAMES
    hook_moment = staticmethod(hooks.moment)
    tool_call = staticmethod(tool_calls.read)
    call_with_mail = staticmethod(hooks.call_with_mail)
    conversation = staticmethod(hooks.conversation)
    fork_started = staticmethod(hooks.fork_started)
    decision_answer = staticmethod(hooks.answer)
    answer_with_mail = staticmethod(hooks.with_mail)
    read_answer = staticmethod(hooks.read_answer)

    from_hook = staticmethod(observations.from_hook)
    resumed = staticmethod(observations.resumed)
    from_status = staticmethod(observations.from_status)
    from_output = staticmethod(observations.from_output)

    line_kind = staticmethod(stream.kind)
    ran_out_of_turns = staticmethod(stream.ran_out_of_turns)
    summary = staticmethod(stream.summary)
    shown = staticmethod(stream.shown)

    permission_asked = staticmethod(input_lines.permission_asked)
    permission_line = staticmethod(input_lines.permission_line)
    user_line = staticmethod(input_lines.user_line)
    interrupt_line = staticmethod(input_lines.interrupt_line)

    transcript_lines = staticmethod(transcript.read)
    is_message = staticmethod(transcript.is_message)
    message_usage = staticmethod(usage.from_transcript)
    result_usage = staticmethod(usage.from_result)

    usage_window = staticmethod(rate_limits.from_output)

    screen = staticmethod(screen.read)
    typed = staticmethod(input_lines.typed)
