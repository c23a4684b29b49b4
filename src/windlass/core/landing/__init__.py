"""Changes on their way to the target branch: which land, which come back, what is tried next."""
