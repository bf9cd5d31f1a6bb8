"""The public interface of the package: simctl's commands as functions, and their results as objects."""
