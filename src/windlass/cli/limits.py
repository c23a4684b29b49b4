"""Numbers on the command line: limits of agents, and how much to show.

Checked before anybody is asked.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.core.ages import seconds
from windlass.core.errors import UserError

_MOST = 1e9


def take(parser: ArgumentParser) -> None:
    """Adds the limits that new agents and resumed ones can have."""
    parser.add_argument("--max-budget", type=usd, metavar="USD", help="pause it when it spent this")
    parser.add_argument(
        "--time-limit", type=duration, metavar="TIME", help="pause it after 90s, 30m, 2h ..."
    )


def usd(text: str) -> float:
    """Reads an amount of money that somebody can have."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < _MOST:
        raise UserError(
            f"--max-budget {text!r} is not an amount above 0", "give USD: --max-budget 2"
        )
    return amount


def duration(text: str) -> float:
    """Reads a time limit, in seconds."""
    limit = seconds(text)
    if not 0 < limit < _MOST:
        raise UserError(
            f"--time-limit {text!r} is not a time above 0", "for example --time-limit 30m"
        )
    return limit


def turns(text: str) -> int:
    """Reads a number of model calls."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 0 < number < _MOST:
        raise UserError(
            f"--max-turns {text!r} is not a number above 0", "for example --max-turns 30"
        )
    return number


def count(text: str) -> int:
    """Reads how many of something are to be shown."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number < _MOST:
        raise UserError(f"{text[:40]!r} is not a number of things to show", "for example 100")
    return number
