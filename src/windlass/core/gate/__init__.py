"""The gate: what decides whether a tree is good, as functions of data."""
