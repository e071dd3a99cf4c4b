"""The same work by many workers: a job cut into shards, each shard a file that is there or not, on Ray."""
