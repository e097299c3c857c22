"""The behaviours in which torchlike differs from PyTorch, by area, each with the reason."""

from __future__ import annotations

_IN_PLACE = (
    "PyTorch's add_ alone skips its check and fails in a kernel, in words about shapes; here it "
    "says what mul_, copy_ and the others say, and what to do instead"
)

DIFFERENCES: dict[str, dict[str, str]] = {
    "inference mode": {
        "a_version_of_a_clone": "a clone starts at 0 everywhere; PyTorch's clone of an inference "
        "tensor counts the copy into its new memory as a write",
    },
    "forward mode": {
        "a_jvp_that_gives_none": "PyTorch fails an internal assertion that asks for a bug report; "
        "here the result has no tangent",
        "func_jvp_in_a_dual_level": "func.jvp within a dual level works; PyTorch has one level of "
        "forward mode and refuses it",
    },
    "vmap": {
        "written_into_what_is_not_mapped": _IN_PLACE,
        "written_into_a_new_tensor": _IN_PLACE,
    },
    "gradcheck": {
        "batched_gradients_that_cannot_be": "item() within vmap is refused in vmap's own words; "
        "PyTorch's pass in gradcheck alone has others, about a fallback",
    },
    "warnings and out=": {
        "out_that_is_no_tensor": "a TypeError says that it is a number; PyTorch makes a tensor of "
        "it, whose dtype then is wrong, and would write to what nobody can read",
        "index_put_by_a_mask_of_bytes": "works as x[mask] = 7 does; PyTorch hands a value without "
        "dimensions on to masked_fill_, which refuses the mask that index_put takes",
    },
    "modules and optimizers": {
        "a_bag_with_the_last_offset_missing": "the mean of the last bag's rows; PyTorch divides "
        "their sum by the number of all indices from the bag's start on",
    },
    "memory and files": {
        "eigenvalues_seen_by_a_tracker": "lobpcg computes by eigh, so there are no iterations",
        "saving_an_old_file_to_an_object_that_only_writes": "a file needs write() alone; PyTorch's "
        "old format asks for flush() as well, and its new one does not",
    },
    "subclasses and state": {
        "a_deep_copy_without_new_empty": "works for every subclass; PyTorch 2.13 refuses it unless "
        "new_empty() of the class gives an instance of it",
    },
}
