"""Sums that a crew does every day."""
