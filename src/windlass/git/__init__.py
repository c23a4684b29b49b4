"""The only place that runs git."""
