"""What every model goes through: fit, calibrate, measure, rank; the fingerprint of a fit."""
