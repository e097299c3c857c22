"""DataLoader's workers as processes: the server that forks them, what they do, what they send."""
