"""What agents use up: money, time and disk, and what follows when it is too much."""
