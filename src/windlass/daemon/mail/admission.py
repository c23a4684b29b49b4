"""What may be sent: text that can be delivered, questions that are wanted, and no floods."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core import texts
from windlass.core.errors import Denied, UserError
from windlass.core.ids import RepoId
from windlass.core.mail import messages
from windlass.core.mail.messages import MailLimits, Waiting
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail.receipts import PERSON, Party
from windlass.store import mailbox
from windlass.store.store import Writing

_MINUTE = 60.0


def checked(text: str, hint: str) -> str:
    """A text that can be delivered, as it is."""
    if not text.strip():
        raise UserError("the text is empty", hint)
    if "\0" in text:
        raise UserError("the text has a NUL in it", "send text; name files instead of sending them")
    texts.require_short(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError("the text is not UTF-8", "send text; name files instead") from None
    return text


class QuestionRules(NamedTuple):
    """What is configured about questions: whether the person wants any, and how many at most."""

    allowed: bool
    limits: MailLimits


def question_rules(context: Context, repo: RepoId) -> QuestionRules:
    """The rules of a repository, for questions by any way: `wl ask`, or a dialog that was denied.

    Asks the store: not within a transaction.
    """
    root = repos.by_id(context, repo).root
    config = settings.usable(context.folders.home, root).config
    return QuestionRules(
        config.allow_agent_questions, MailLimits(config.mail.rate, config.mail.inbox)
    )


def admit_question(
    writing: Writing, repo: RepoId, asker: Party, to: Party, *, text: str, rules: QuestionRules
) -> str:
    """The text of a question that may be asked, or why it may not."""
    asked = checked(text.strip(), 'wl ask "what do you want to know?"')
    if to == PERSON:
        refuse_question(allowed=rules.allowed)
    refuse_flood(writing, repo, asker, [to], rules.limits)
    return asked


def refuse_question(*, allowed: bool) -> None:
    """Refuses a question to a person that does not want to be asked."""
    if not allowed:
        raise Denied(
            "the person does not want to be asked (allow_agent_questions is false)",
            "decide by yourself, and say in your last message what you decided",
        )


def refuse_flood(
    writing: Writing, repo: RepoId, sender: Party, to: list[Party], limits: MailLimits
) -> None:
    """Refuses a sender that says too much, or a recipient that has too much."""
    now = writing.now
    sent = mailbox.sent_since(writing.connection, sender.uid, repo, since=now - _MINUTE, now=now)
    for recipient in to:
        queued = mailbox.queued(writing.connection, recipient.uid)
        senders = [message.sender for message in queued if message.repo == repo]
        own = senders.count(sender.uid)
        # What agents left there is no reason to refuse the person.
        waiting = Waiting(own if sender == PERSON else len(senders), own)
        messages.refuse_flood(
            recipient.id, limits=limits, of_sender=sent, waiting=waiting, adding=len(to)
        )
