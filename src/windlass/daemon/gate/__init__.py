"""The gate: which one counts, what it needs, its runs, and their verdicts."""
