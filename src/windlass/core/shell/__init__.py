"""Shell lines, read without running them: what they run, which files and refs they reach."""
