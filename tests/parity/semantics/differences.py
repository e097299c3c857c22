"""The behaviours in which torchlike differs from PyTorch, by area, each with the reason."""

from __future__ import annotations

_IN_PLACE = (
    "PyTorch's add_ alone skips its check and fails in a kernel, in words about shapes; here it "
    "says what mul_, copy_ and the others say, and what to do instead"
)

_ASKED_INSIDE = (
    "requires_grad_() inside a transform is as outside of one, and what is computed from it is "
    "right; PyTorch refuses it"
)
_OFFSETS = (
    "offsets that decrease are refused; PyTorch takes bags of negative length for empty ones, or "
    "reads outside of the indices"
)
_HALF_COMPLEX = (
    "XLA has no complex numbers of 16-bit floats; NotImplementedError says to convert first"
)
_NO_FORMAT = (
    "says that the file is in neither of PyTorch's formats; PyTorch 2.13, which reads no tar any "
    "more either, fails in the middle of a pickle"
)
_BYTES_IN_ARCHIVES = (
    "is loaded; PyTorch looks for the record of the storage b'0', which no archive has"
)
_TO_DENSE = "NotImplementedError names to_dense(); PyTorch's RuntimeError names the layout alone"

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
    "nn": {
        "a_bag_with_offsets_that_fall": _OFFSETS,
        "a_bag_with_a_negative_offset": _OFFSETS,
        "a_tensor_rate_with_foreach_that_is_capturable": "steps, as every step here can be "
        "captured; PyTorch captures on GPUs alone",
        "a_half_times_a_complex_number": _HALF_COMPLEX,
        "halves_to_a_complex_power": _HALF_COMPLEX,
    },
    "memory and files": {
        "eigenvalues_seen_by_a_tracker": "lobpcg computes by eigh, so there are no iterations",
        "saving_an_old_file_to_an_object_that_only_writes": "a file needs write() alone; PyTorch's "
        "old format asks for flush() as well, and its new one does not",
    },
    "files and datasets": {
        "a_container_of_the_first_release": _NO_FORMAT,
        "a_container_of_the_first_release_without_safety": _NO_FORMAT,
        "a_file_that_is_a_tar_of_something_else": _NO_FORMAT,
        "text_of_python_2_in_an_archive_as_bytes": _BYTES_IN_ARCHIVES,
        "text_of_python_2_in_an_archive_safely_as_bytes": _BYTES_IN_ARCHIVES,
        "an_argument_that_pickle_does_not_have": "the error names pickle.Unpickler, which reads "
        "both formats here; PyTorch reads the old one by pickle.load",
    },
    "C++ extensions": dict.fromkeys(
        (
            "the_compiler_of_another_platform",
            "a_source_that_is_not_there",
            "a_source_in_cuda",
            "an_extension_in_cuda",
            "options_of_builds",
            "an_extension_in_cpp",
            "where_headers_are",
        ),
        "sources for PyTorch need its C++ library; NotImplementedError says at once to use "
        "from_jax_function with jax.ffi or Pallas, and where an example is",
    ),
    "subclasses and state": {
        "a_deep_copy_without_new_empty": "works for every subclass; PyTorch 2.13 refuses it unless "
        "new_empty() of the class gives an instance of it",
    },
    "refused in transforms": {
        "gradients_begun_inside": _ASKED_INSIDE,
        "gradients_begun_in_grad": _ASKED_INSIDE,
        "hooks_on_what_is_saved": "hooks see what is saved inside a transform as they do outside; "
        "PyTorch refuses them",
        "written_into_what_is_captured": "a tensor of the caller's is written, and has the right "
        "gradient; PyTorch refuses the write",
        "an_address": "an address is given, of which vmap says that it is no tensor; PyTorch has "
        "no address of what is mapped",
        "compared_as_a_whole": "says that a value would be asked for; PyTorch names what its "
        "dispatcher lacks",
    },
    "sparse layouts": {
        "rows_of_a_vector": "says how many dimensions are missing; PyTorch fails in select()",
        "a_power": _TO_DENSE,
        "an_exponential": _TO_DENSE,
        "resized_blocks": "NotImplementedError; PyTorch makes a tensor whose values are no blocks "
        "any more, which it cannot read back",
    },
    "graphs and programs": {
        "decomposed_by_no_table": "operators that are made of others are always taken apart; "
        "PyTorch keeps those that no table has",
        "the_signature_of_a_submodule": "the graph of a submodule takes what it needs; "
        "NotImplementedError names unflatten()",
    },
    "unbacked sizes": {
        "a_choice_without_dimensions_of_one": "how many dimensions are left is part of the graph, "
        "so an error asks for a torch._check; PyTorch takes the size for another than 1, and the "
        "graph's own result is then of another shape than it says",
    },
    "operators and fakes": {
        "chosen_by_a_sparse_mask": "masks are dense; NotImplementedError names to_dense()",
        "whether_an_operator_has_a_fake": "custom_op registers a fake only where there is one; "
        "PyTorch's registers one that raises",
        "trees_in_c": "the same functions as in torch.utils._pytree; PyTorch needs optree for them",
    },
}
