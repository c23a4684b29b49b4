"""Speeds at sea."""

METRES_IN_A_MILE = 1852


def knots(metres_per_second: float) -> float:
    """Converts metres a second to knots."""
    return metres_per_second * 3600 / METRES_IN_A_MILE
