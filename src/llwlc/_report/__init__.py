"""One self-contained HTML file of a run: what was measured, the missing links, why each is one."""
