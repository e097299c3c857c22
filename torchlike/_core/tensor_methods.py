"""The base of Tensor under which type checkers find its methods: see tensor_methods.pyi."""


class TensorMethods:
    """Nothing of its own: the registry puts the methods on Tensor, a generated stub types them."""

    __slots__ = ()
