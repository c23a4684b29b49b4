"""Lifecycles: state machines in data, and the engine that runs any of them.

Pure. The engine knows no state by its name; the life of a change is `data/lifecycle.json`.
"""
