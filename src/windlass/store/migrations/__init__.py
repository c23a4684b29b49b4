"""Numbered, append-only migrations. A released one is never edited; the next one mends it.

Each has a module of its own and its own idea of the tables, as they were meant then: it takes
nothing from `store/tables.py`, which says what they are now.
"""
