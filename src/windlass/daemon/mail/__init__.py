"""Messages, questions and notices: who is meant, what is sent, how it is delivered."""
