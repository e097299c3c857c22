"""Programs cut into blocks, of which equal ones share an executable."""
