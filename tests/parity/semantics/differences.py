"""The behaviours in which torchlike differs from PyTorch, by area, each with the reason."""

from __future__ import annotations

_SAVED = "an array cannot change, so there is nothing to guard: the gradient is right"
_LEVEL = (
    "a dual is a value of its level; the primal and tangent that unpack_dual gives are recorded"
)
_IN_PLACE = (
    "refused with the message for in-place writes in vmap, which says what to do: PyTorch's "
    "fallback is refused further below, in words about shapes and kernels"
)
_DIMENSIONS = "NumPy and JAX have at most 64 dimensions"
_METHOD = "the function and the method are one here, so the warning shows the function's signature"

DIFFERENCES: dict[str, dict[str, str]] = {
    "inference mode": {
        "a_version_of_a_clone": "a clone starts at 0 everywhere; PyTorch's copies into new memory",
        "saved_for_backward": _SAVED,
        "saved_by_a_linear_layer": _SAVED,
        "used_as_an_index": _SAVED,
    },
    "forward mode": {
        "the_primal_is_a_view": "writes are shared, but a dual has an address of its own and says "
        "that it is no view",
        "make_dual_of_no_tensor": "a TypeError that names the argument; PyTorch's AttributeError "
        "is of the number (no attribute 'is_floating_point')",
        "a_dual_of_a_leaf_requires_grad": _LEVEL,
        "a_gradient_inside": _LEVEL,
        "a_jvp_that_gives_none": "PyTorch fails an internal assertion; here the tangent is zero",
        "func_jvp_in_a_dual_level": "a jvp within a dual level works; PyTorch refuses it",
    },
    "vmap": {
        "rrelu_error": "training rrelu is refused within vmap everywhere, with what to use "
        "instead; PyTorch's words ask for an issue to be filed",
        "written_into_what_is_not_mapped": _IN_PLACE,
        "written_into_a_new_tensor": _IN_PLACE,
        "out_in_vmap": _IN_PLACE,
        "to_a_list": "the message says what to use instead; PyTorch's is about a data pointer",
    },
    "gradcheck": {
        "batched_gradients_that_cannot_be": "item() within vmap is refused in vmap's own words",
    },
    "warnings and out=": {
        "the_method_add_with_the_factor_in_front": _METHOD,
        "add_in_place_with_the_factor_in_front": _METHOD,
        "backward_with_create_graph": "the cycle that PyTorch warns of is found by Python's "
        "garbage collector here",
        "out_that_is_no_tensor": "a TypeError says that it is a number; PyTorch makes a tensor of "
        "it, whose dtype then is wrong, and would write to what nobody can read",
    },
    "modules and optimizers": {
        "a_convolution_of_no_channels": "sums over nothing here; PyTorch gives no output channels",
    },
    "memory and files": {
        "sixty_five_dimensions": _DIMENSIONS,
        "sixty_five_dimensions_added": _DIMENSIONS,
        "sixty_five_dimensions_summed": _DIMENSIONS,
        "sixty_five_dimensions_summed_over_none": _DIMENSIONS,
        "sixty_five_dimensions_averaged": _DIMENSIONS,
        "an_empty_file": "the EOFError says that the file is empty; PyTorch's says nothing",
        "a_zip_of_something_else": "the message names no file of PyTorch's C++ source",
    },
}
