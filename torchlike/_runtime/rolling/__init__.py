"""Rolled loops: what a Python loop has left in a program n times becomes one ``lax.scan``."""
