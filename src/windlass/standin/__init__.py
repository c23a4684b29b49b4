"""The stand-in agent: behaves outwardly like Claude Code and plays a script."""
