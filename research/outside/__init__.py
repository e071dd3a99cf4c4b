"""Calibration of `recommend`'s probabilities on files from which links were removed before llwlc read them."""
