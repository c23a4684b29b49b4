"""What lives and the store does not know: taken in again, named, or cleared away."""
