"""The paper's tables: each table is one specification, and each run is stored as one line."""
