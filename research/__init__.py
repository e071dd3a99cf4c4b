"""The study of the paper: its tables, what bases tell apart, benchmarks. It uses the package `llwlc`, which never
imports it.

Run from the root of a checkout: `python -m research reproduce TABLE`, `python -m research expressivity`,
`python -m research bench`.
"""
