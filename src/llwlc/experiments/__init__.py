"""The paper's tables: one specification a table, one stored line a run."""
