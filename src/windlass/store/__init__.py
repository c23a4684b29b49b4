"""The truth: tables, migrations, the event log, and the one thread that writes."""
