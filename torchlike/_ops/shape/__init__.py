"""Shapes: joining, rearranging, resizing; `views` share memory."""
