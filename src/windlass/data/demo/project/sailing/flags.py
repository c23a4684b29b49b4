"""Signal flags: what each one means alone."""

MEANINGS = {
    "A": "diver down",
    "O": "man overboard",
}


def meaning(flag: str) -> str:
    """Says what a flag means."""
    return MEANINGS[flag.upper()]
