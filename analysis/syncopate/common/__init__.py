"""What all programs share: command lines, files, words and numbers, the look of series, sheets of figures."""
