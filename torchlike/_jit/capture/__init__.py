"""What a function reads, writes, makes and draws while its graph is recorded."""
