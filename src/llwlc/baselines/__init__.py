"""Methods to compare with: one a file, all behind one interface."""
