"""Parameters averaged over processes now and then, in place of gradients at each step."""
