"""Data that ships with the package: schemas, the demo's scripts."""
