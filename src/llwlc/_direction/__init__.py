"""The direction of links: a small model that complements the one of their existence."""
