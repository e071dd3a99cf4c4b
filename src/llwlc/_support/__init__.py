"""Helpers that know nothing of graphs: ragged arrays, random draws, files, threads, registries, data and cache roots,
the compiler.
"""
