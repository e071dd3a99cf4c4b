"""Time budgets: measured rates, a forecast, and a plan that fits."""
