"""What every service stands on: context, intents, settings, repositories, safe file access."""
