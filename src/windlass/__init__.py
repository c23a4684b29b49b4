"""Windlass runs a crew of coding agents on a git repository and lands only what is proven."""

__version__ = "0.1.0"
