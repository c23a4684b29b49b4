"""What agents are doing: where that is read from, the state that follows, who is told."""
