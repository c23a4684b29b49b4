"""What becomes of a change whose author has ended, in words for the person."""

from __future__ import annotations


def told(change: str, state: str, author: str) -> str:
    """Says it of one that was in a state when its author ended; nothing of what is over."""
    match state:
        case "draft":
            return f"{author}'s draft {change} is dropped with it: wl undo brings both back"
        case "rejected" | "conflict":
            return f"{author} ended before it mended {change}: wl show {change}"
        case "held":
            return f"{author}'s change {change} waits for you: wl show {change}"
        case "queued" | "gating" | "proposed":
            return (
                f"{author}'s change {change} lands as it is, and brings {author} back if it"
                f" cannot: wl drop {change}, if nobody wants it"
            )
        case _:
            return ""
