"""Whether the probabilities of `recommend` come true on a file from which links were taken before llwlc read it."""
