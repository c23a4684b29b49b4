"""The pure heart: decisions as functions of data. No IO, no clock, no randomness."""
