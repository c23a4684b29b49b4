"""What a session is started with: request, environment, box, clone, instructions."""
