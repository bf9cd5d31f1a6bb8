"""Published numbers of five papers beside simulated ones."""
