"""The services behind the API, their wiring, and what puts things right after a crash."""
