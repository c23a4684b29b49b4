"""Runs: tasks of the board that are worked off by agents, step by step, as jobs."""
