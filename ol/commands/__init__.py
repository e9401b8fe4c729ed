"""The commands: each parses, calls one use case, renders and returns its exit code."""
