"""Links of nodes that have none yet, by their features: a model of its own, fitted when it is first asked."""
