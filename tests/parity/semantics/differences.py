"""The behaviours in which torchlike differs from PyTorch, by area, each with the reason."""

from __future__ import annotations

_SAVED = "an array cannot change, so there is nothing to guard: the gradient is right"
_METHOD = "the function and the method are one here, so the warning shows the function's signature"

DIFFERENCES: dict[str, dict[str, str]] = {
    "inference mode": {
        "a_version_of_a_clone": "a clone starts at 0 everywhere; PyTorch's copies into new memory",
        "saved_for_backward": _SAVED,
        "saved_by_a_linear_layer": _SAVED,
        "used_as_an_index": _SAVED,
    },
    "gradcheck": {
        "a_wrong_gradient_in_fast_mode": "fast_mode compares whole Jacobians too, and shows them",
        "batched_gradients_that_cannot_be": "item() within vmap is refused in vmap's own words",
    },
    "warnings and out=": {
        "the_method_add_with_the_factor_in_front": _METHOD,
        "add_in_place_with_the_factor_in_front": _METHOD,
        "backward_with_create_graph": "the cycle that PyTorch warns of is found by Python's "
        "garbage collector here",
        "out_of_another_dtype_of_median": "told in the words of other functions",
        "out_that_is_no_tensor": "refused as a number; PyTorch reads it as a tensor",
    },
}
