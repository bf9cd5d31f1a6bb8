"""Reports, figures and small trainings of what simctl has simulated; analysis/README.md says what is where."""
