"""Passages: how long they take."""

from sailing import speed


def hours(miles: float, metres_per_second: float) -> float:
    """Says how long a passage takes at that speed."""
    return miles / speed.knots(metres_per_second)
