"""A search over models and their options, compared on hidden links that are not the test links."""
