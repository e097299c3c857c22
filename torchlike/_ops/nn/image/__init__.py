"""Images: resampling, padding, regions."""
