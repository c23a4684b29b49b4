"""What a person is told of new sessions: once in a repository, or each time."""

from __future__ import annotations

from windlass.core.ids import RepoId
from windlass.core.session_launch import Remark
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import told_remarks

SHOP, BANK = RepoId("shop"), RepoId("bank")
LACKING = Remark(text="without your rules", fix="bring them")
FAILED = Remark(text="without the server", once=False)
BOTH = [{"text": LACKING.text, "fix": LACKING.fix}, {"text": FAILED.text, "fix": ""}]


def test_what_was_told_is_not_told_again_in_that_repository(context: Context) -> None:
    said = [told_remarks.fresh(context, SHOP, [LACKING, FAILED]) for _ in range(2)]
    assert said == [BOTH, BOTH[1:]]
    assert told_remarks.fresh(context, BANK, [LACKING, FAILED]) == BOTH


def test_where_it_cannot_be_remembered_it_is_told_again(context: Context) -> None:
    (context.folders.home / told_remarks.FILE).write_text("[")
    assert told_remarks.fresh(context, SHOP, [LACKING]) == BOTH[:1]
    (context.folders.home / told_remarks.FILE).unlink()
    (context.folders.home / told_remarks.FILE).mkdir()
    assert [told_remarks.fresh(context, SHOP, [LACKING]) for _ in range(2)] == [BOTH[:1]] * 2
