"""The corpus: real networks of many domains, on which models are compared."""
