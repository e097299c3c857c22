"""What a program takes for granted, asked again at each call."""
