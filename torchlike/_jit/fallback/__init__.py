"""Functions that cannot be compiled whole, or again and again: what runs, and what is said."""
