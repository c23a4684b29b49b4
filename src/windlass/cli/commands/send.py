"""Says something to an agent, exactly as given; the text may come on stdin or from a file.

WHOM is an agent, several with commas, or a word: `parent`, `children`, `all`, a role (`worker`),
or `user`, the person. A message is kept until its recipient has it; what is not delivered within a
moment is delivered later, and `wl message show` tells. To the person, a text that begins with `?`
is a question, with `!` an alert, with `COMPLETE:` or `DONE:` the end of the work.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser

from windlass.cli import receipts
from windlass.cli.call import Call, piped, read_text
from windlass.core import ages
from windlass.core.errors import UserError

EXAMPLES = (
    "wl send api 'please add a test'",
    "git diff | wl send api",
    "wl send api,ui --urgent 'stop: the schema changes'",
    "wl send api --wake --file notes.md",
    "wl send gull --reply-to msg-5f0c 'yes, do that'",
    "wl send user '? shall the old flag keep working'  # from inside an agent",
)
_MOMENT = 1.0
"""Seconds that a person waits for a receipt; agents have other things to do."""


def arguments(parser: ArgumentParser) -> None:
    """Takes whom, what, and how."""
    parser.add_argument("agent", metavar="WHOM", help="to whom; several with commas")
    parser.add_argument("text", nargs="*", help="what to say (or on stdin)")
    parser.add_argument(
        "--file", "-F", metavar="FILE", help="what to say is in this file (- is stdin)"
    )
    parser.add_argument("--urgent", action="store_true", help="goes before what waits already")
    parser.add_argument("--wake", action="store_true", help="go on with it if it is stopped")
    parser.add_argument("--reply-to", metavar="ID", help="the message that this answers")
    parser.add_argument("--topic", metavar="WORD", help="takes the place of what waits on the same")
    parser.add_argument("--expires", metavar="TIME", help="not worth delivering after 30s, 5m ...")
    parser.add_argument("--wait", metavar="TIME", help="wait so long for it to be delivered")


def run(call: Call) -> int:
    """Sends it, and says what became of it so far."""
    args = call.args
    done = call.ask(
        "send",
        agent=args.agent,
        text=_text(call),
        urgent=args.urgent,
        wake=args.wake,
        reply_to=args.reply_to,
        topic=args.topic,
        expires=ages.seconds(args.expires) if args.expires else None,
    )
    found = done["messages"]
    moment = 0.0 if os.environ.get("WINDLASS_SOCKET") else _MOMENT
    limit = ages.seconds(args.wait) if args.wait else moment
    waiting = [one["id"] for one in found if one["state"] == "queued" and one["to"] != "user"]
    if limit and waiting and not all(one["note"] for one in found):
        news = {one["id"]: one for one in call.ask("receipts", messages=waiting, timeout=limit)}
        found = [news.get(one["id"], one) for one in found]
    call.data(found)
    for one in found:
        note = f"; {one['note']}" if one["note"] else ""
        call.tell(f"{one['id']} to {one['to']}: {receipts.receipt(one)}{note}")
    return 0


def _text(call: Call) -> str:
    """What to say, to the last line end: nothing on the way may translate it."""
    args = call.args
    if args.file is not None and args.text:
        raise UserError(
            f"both a text and --file {args.file} are given",
            "send one of them, or one after the other",
        )
    if args.file is not None:
        return read_text(args.file)
    text = " ".join(args.text) or piped()
    if not text:
        raise UserError("nothing to send", f"wl send {args.agent} 'text'")
    return text
