"""What Windlass takes on big repositories, with two hundred agents and with a year of history.

Everything is measured beside what a user would do without it, plain git above all, in one run.
"""
