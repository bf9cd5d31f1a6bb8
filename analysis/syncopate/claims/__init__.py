"""What five papers claim of accuracy, judged on a small task."""
