"""A search over models and their options, by links that are hidden from training and are no test links."""
