"""Texts for the person's own agent and files: briefing, marked blocks, status node."""
