"""LinkPredictor, and the run directory it writes and reads."""
