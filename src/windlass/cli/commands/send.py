"""Says something to an agent, exactly as given; the text may come on stdin or from a file.

WHOM is an agent, several with commas, or a word: `parent`, `children`, `all`, a role (`worker`),
or `user`, the person. A message is kept until its recipient has it; what is not delivered within a
moment is delivered later, and `wl message show` tells. With --wait it ends 1 if that has not
happened in time, or cannot while its recipient is stopped or paused; the message is kept all the
same. What an agent says to the person is a question if it begins with `?`, an alert with `!`, the
end of the work with `COMPLETE:` or `DONE:`.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from windlass.cli import receipts
from windlass.cli.call import Call, read_text, worded
from windlass.core import ages, texts
from windlass.core.errors import Conflict, UserError

EXAMPLES = (
    "wl send api 'please add a test'",
    "git diff | wl send api",
    "wl send api,ui --urgent 'stop: the schema changes'",
    "wl send api --wake --file notes.md",
    "wl send api --wait 30s 'the schema is ready' || wl why api",
    "wl send gull --reply-to msg-5f0c 'yes, do that'",
    "wl send user '? shall the old flag keep working'  # from inside an agent",
)
_MOMENT = 1.0
"""Seconds that a person waits for a receipt; agents have other things to do."""
_ARRIVED = ("delivered", "read", "acked")


def arguments(parser: ArgumentParser) -> None:
    """Takes whom, what, and how."""
    parser.add_argument("agent", metavar="WHOM", help="to whom; several with commas")
    parser.add_argument("text", nargs="*", help="what to say (or on stdin, also with -)")
    parser.add_argument(
        "--file", "-F", metavar="FILE", help="what to say is in this file (- is stdin)"
    )
    parser.add_argument("--urgent", action="store_true", help="goes before what waits already")
    parser.add_argument("--wake", action="store_true", help="go on with it if it is stopped")
    parser.add_argument("--reply-to", metavar="ID", help="the message that this answers")
    parser.add_argument("--topic", metavar="WORD", help="takes the place of what waits on the same")
    parser.add_argument("--expires", metavar="TIME", help="not worth delivering after 30s, 5m ...")
    parser.add_argument(
        "--wait", metavar="TIME", help="wait so long for it to be delivered, else end 1"
    )


def run(call: Call) -> int:
    """Sends it, and says what became of it so far."""
    args = call.args
    wait = ages.seconds(args.wait) if args.wait is not None else None
    done = call.ask(
        "send",
        agent=args.agent,
        text=_text(call),
        urgent=args.urgent,
        wake=args.wake,
        reply_to=args.reply_to,
        topic=args.topic,
        expires=ages.seconds(args.expires) if args.expires is not None else None,
    )
    messages = _awaited(call, done["messages"], wait)
    call.data(messages)
    for message in messages:
        note = f"; {message['note']}" if message["note"] else ""
        call.tell(f"{message['id']} to {message['to']}: {receipts.receipt(message)}{note}")
    if wait is not None:
        _refuse_undelivered(messages)
    return 0


def _awaited(call: Call, sent: list[dict[str, Any]], wait: float | None) -> list[dict[str, Any]]:
    """What became of messages within a while; the person is waited for only if that was asked."""
    moment = 0.0 if os.environ.get("WINDLASS_SOCKET") else _MOMENT
    limit = moment if wait is None else wait
    queued = [message for message in sent if message["state"] == "queued"]
    waiting = [message for message in queued if wait is not None or message["to"] != "user"]
    if not limit or all(message["note"] for message in waiting):
        return sent
    ids = [message["id"] for message in waiting]
    news = {message["id"]: message for message in call.ask("receipts", messages=ids, timeout=limit)}
    return [news.get(message["id"], message) for message in sent]


def _refuse_undelivered(messages: list[dict[str, Any]]) -> None:
    left = [message for message in messages if message["state"] not in _ARRIVED]
    if left:
        named = ", ".join(f"{message['id']} to {message['to']}" for message in left)
        raise Conflict(f"not delivered: {named}", f"wl why {left[0]['id']}")


def _text(call: Call) -> str:
    """What to say, to the last line end: nothing on the way may translate it."""
    args = call.args
    if args.file is not None and args.text:
        raise UserError(
            f"both a text and --file {args.file} are given",
            "send one of them, or one after the other",
        )
    if args.file is not None:
        return texts.require_short(read_text(args.file))
    text = worded(args.text)
    if not text:
        raise UserError("nothing to send", f"wl send {args.agent} 'text'")
    return text
