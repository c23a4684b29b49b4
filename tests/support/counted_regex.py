"""Regular expressions matched as `re` matches them, by going back, with every step counted.

Slow and small: to see how the work of a pattern grows with its input, without a clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

Then = Callable[[int], bool]


class Counted:
    """One pattern; `steps` is how many pieces of it were tried in all, for every text."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.tree = _parser.parse(pattern, flags)
        self.flags = self.tree.state.flags
        self.steps = 0
        self._text = ""
        self._groups: dict[int, str] = {}

    def fullmatch(self, text: str) -> bool:
        """Whether all of a text is matched."""
        self._text, self._groups = text, {}
        return self._sequence(list(self.tree), 0, lambda end: end == len(text))

    def search(self, text: str) -> bool:
        """Whether it is found anywhere."""
        self._text, self._groups = text, {}
        return any(
            self._sequence(list(self.tree), at, lambda _: True) for at in range(len(text) + 1)
        )

    def _sequence(self, rest: list[Any], at: int, then: Then) -> bool:
        if not rest:
            return then(at)
        self.steps += 1
        (op, given), *more = rest
        return self._one(op, given, at, lambda end: self._sequence(more, end, then))

    def _one(self, op: Any, given: Any, at: int, then: Then) -> bool:
        if op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN):
            return at < len(self._text) and self._char(op, given, self._text[at]) and then(at + 1)
        if op is ops.BRANCH:
            return any(self._sequence(list(way), at, then) for way in given[1])
        if op is ops.SUBPATTERN:
            return self._sequence(
                list(given[3]), at, lambda end: self._kept(given[0], at, end, then)
            )
        if op is ops.MAX_REPEAT:
            return self._repeat(given, at, 0, then)
        if op is ops.MIN_REPEAT:
            return self._repeat_least(given, at, 0, then)
        if op is ops.POSSESSIVE_REPEAT:
            return self._possessive(given, at, then)
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            way, inside = given
            start = at if way > 0 else at - inside.getwidth()[0]
            found = start >= 0 and self._sequence(list(inside), start, lambda _: True)
            return found is (op is ops.ASSERT) and then(at)
        if op is ops.AT:
            return self._at(given, at) and then(at)
        if op is ops.GROUPREF:
            said = self._groups.get(given, "")
            return self._text.startswith(said, at) and then(at + len(said))
        raise NotImplementedError(op)

    def _kept(self, group: int | None, start: int, end: int, then: Then) -> bool:
        if group is not None:
            self._groups[group] = self._text[start:end]
        return then(end)

    def _repeat(self, given: Any, at: int, count: int, then: Then) -> bool:
        least, most, inside = given
        again = count < most and self._sequence(
            list(inside),
            at,
            lambda end: (end > at or count < least) and self._repeat(given, end, count + 1, then),
        )
        return again or (count >= least and then(at))

    def _repeat_least(self, given: Any, at: int, count: int, then: Then) -> bool:
        least, most, inside = given
        if count >= least and then(at):
            return True
        return count < most and self._sequence(
            list(inside),
            at,
            lambda end: (
                (end > at or count < least) and self._repeat_least(given, end, count + 1, then)
            ),
        )

    def _possessive(self, given: Any, at: int, then: Then) -> bool:
        least, most, inside = given
        count, ends = 0, [at]

        def keep(end: int) -> bool:
            ends.append(end)
            return True

        while count < most and self._sequence(list(inside), ends[-1], keep):
            count += 1
            if ends[-1] == ends[-2]:
                break
        return count >= least and then(ends[-1])

    def _char(self, op: Any, given: Any, char: str) -> bool:
        if op is ops.ANY:
            return char != "\n" or bool(self.flags & re.DOTALL)
        chars = {char, char.lower(), char.upper()} if self.flags & re.IGNORECASE else {char}
        if op is ops.IN:
            negated = given[0][0] is ops.NEGATE
            return any(self._among(item, c) for item in given for c in chars) is not negated
        return (given in map(ord, chars)) is (op is ops.LITERAL)

    @staticmethod
    def _among(item: Any, char: str) -> bool:
        op, given = item
        if op is ops.RANGE:
            return bool(given[0] <= ord(char) <= given[1])
        if op is ops.CATEGORY:
            negated = given in (
                ops.CATEGORY_NOT_SPACE,
                ops.CATEGORY_NOT_WORD,
                ops.CATEGORY_NOT_DIGIT,
            )
            space = given in (ops.CATEGORY_SPACE, ops.CATEGORY_NOT_SPACE)
            digit = given in (ops.CATEGORY_DIGIT, ops.CATEGORY_NOT_DIGIT)
            word = char.isdecimal() if digit else char.isalnum() or char == "_"
            return (char.isspace() if space else word) is not negated
        return op is ops.LITERAL and bool(given == ord(char))

    def _at(self, where: Any, at: int) -> bool:
        if where in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
            return at == 0
        if where in (ops.AT_END, ops.AT_END_STRING):
            return at == len(self._text)
        if where is ops.AT_BOUNDARY:
            around = [f" {self._text} "[n].replace("_", "a").isalnum() for n in (at, at + 1)]
            return around[0] is not around[1]
        raise NotImplementedError(where)
