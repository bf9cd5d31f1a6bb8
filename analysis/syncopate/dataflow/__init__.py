"""Records of dataflow: reading them, and the functions that they name."""
