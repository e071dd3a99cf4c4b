"""From a split graph to a trained, calibrated, measured network."""
