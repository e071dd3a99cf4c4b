"""What knows nothing of graphs: ragged arrays, draws, files, threads, registries, roots, the compiler."""
