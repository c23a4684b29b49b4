"""Isolation backends, and the probes that say which of them work here."""
