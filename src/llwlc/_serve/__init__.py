"""The local page of a run, and the small JSON interface behind it (extra `serve`)."""
