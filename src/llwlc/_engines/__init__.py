"""Scoring and recommending by many workers on Ray: a job is cut into shards, and each shard is written as one file,
atomically.
"""
