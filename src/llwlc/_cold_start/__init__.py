"""Links of nodes that have none yet, by their features: a separate model, fitted on first use."""
