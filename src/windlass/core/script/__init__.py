"""The scripts that stand in for a model: their format, and where a conversation is in one."""
