"""The number of the newest migration, for those who must know it without opening a database."""

SCHEMA = 14
