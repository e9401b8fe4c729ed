"""Generated mutants: every small fault that the operators allow, and what the tests notice of it."""
