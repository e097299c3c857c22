"""Everything of JAX's that it promises to nobody: names of `jax._src` and jaxlib, attributes.

No other file of the package names such a thing (`tests/test_jax_private.py`), so a new JAX is the
work of this folder. Each name is declared with what it is for, what is done where a JAX lacks it,
and in which versions it was seen (`names`). There is one rule for a JAX that lacks one: a line of
the log and the slower public way, or an error that says what is missing.

The files, by subject: `compiled_calls` (jitted functions whose cache misses come to us), `tracing`,
`jaxprs` (what traced programs are made of), `equations` (the walker over them), `primitives`,
`arrays`, `symbolic_sizes`, `frames`, `backends`, `caches`, `lowering`, `processes`, `kernels`.
`names`, which declares and finds, needs no JAX. The folder imports `logs` and `patches`, and
nothing else of the package.
"""
