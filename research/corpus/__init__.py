"""The corpus: real networks of many domains, on which any models are measured side by side."""
