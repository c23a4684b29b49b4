"""Drivers of jobs: who wakes them, and when. What jobs are is `core/jobs.py`'s."""
