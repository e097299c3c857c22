"""Parts of the passes."""
