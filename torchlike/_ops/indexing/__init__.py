"""Reading and writing at indices and masks. Begin with ``indexing.py`` (``x[i]``)."""
