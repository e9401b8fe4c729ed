"""Grades units written in C and Python, and proves by mutation that the tests deserve trust."""

__version__ = "0.1.0"
