"""Runs: one task going through its pipeline; when it starts, and what is next. Pure."""
