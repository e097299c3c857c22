"""How processes of one program find each other: a store over TCP, JAX's coordination service."""
