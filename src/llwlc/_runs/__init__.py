"""The run directory: format, checks, plan, model card."""
