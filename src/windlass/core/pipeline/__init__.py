"""Pipelines: the steps that a task goes through, and the engine that says which comes next.

Pure: who opens the files is `windlass.project`, who runs the steps comes on top.
"""
