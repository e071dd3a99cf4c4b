"""Compiled forms of extraction and bases: `numba` for the CPU, `cuda` for a GPU; `backends` is the one table that
chooses.
"""
