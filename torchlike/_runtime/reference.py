"""Which release of PyTorch is followed, and what differs between those that can be chosen.

A release is chosen when the process starts, by ``TORCHLIKE_TORCH_VERSION``. Code that has to know
asks `follows` for a line of the table; docs/which-pytorch.md shows the lines to users.
"""

from __future__ import annotations

from typing import NamedTuple

from torchlike._runtime import environment_variables

#: What may be chosen -> the release that is meant, the oldest first.
RELEASES = {"2.13": "2.13.0", "2.14": "2.14.1"}
DEFAULT = "2.13"


class ReleaseChange(NamedTuple):
    """What a release changed, in a function whose name was there before."""

    #: The first release that has it.
    since: str
    #: The functions, as users write them.
    names: tuple[str, ...]
    before: str
    after: str
    #: Why torchlike does one of the two under every release; empty where it follows.
    kept: str = ""


CHANGES = {
    "clamp shares ties": ReleaseChange(
        "2.14",
        ("clamp", "clip", "clamp_min", "clamp_max"),
        "where the input equals a bound, the input gets the whole gradient",
        "a bound that is a tensor gets half of it, one that is a number leaves none for the input; "
        "a NaN beside tensors passes gradients on",
    ),
    "fmax shares ties": ReleaseChange(
        "2.14",
        ("fmax", "fmin"),
        "the first operand gets the gradient of a tie, and the one that is no NaN all of it",
        "each operand gets half at a tie, and both all of it where one is NaN, as of maximum",
    ),
    "arange counts before it truncates": ReleaseChange(
        "2.14",
        ("arange",),
        "in int64 start, end and step lose their fractions first: arange(0, 5, 1.5) has 5 numbers, "
        "and a step below 1 is an error",
        "the length is that of the numbers as given: 4, and steps below 1 repeat the start",
    ),
    "refusals have kinds": ReleaseChange(
        "2.14",
        (
            *("sub", "neg", "positive", "cov", "corrcoef", "relu", "hardtanh", "trapezoid"),
            *("linalg.cond", "fft.fft", "fft.rfft"),
        ),
        "what they refuse is a RuntimeError",
        "booleans and, of transforms, numbers of 16 bits are a NotImplementedError (a RuntimeError "
        "still), complex numbers for a real transform a TypeError, an unknown norm a ValueError",
    ),
    "softshrink rounds its number": ReleaseChange(
        "2.14",
        ("nn.functional.softshrink",),
        "of numbers of 16 bits lambd is taken as it is",
        "lambd is rounded to 16 bits first",
    ),
    "checks take words": ReleaseChange(
        "2.14",
        ("_check", "_check_value", "_check_tensor_all"),
        "a message that is no function is a TypeError where the check fails",
        "it is the message",
    ),
    "attention lies as its query": ReleaseChange(
        "2.14",
        ("nn.functional.scaled_dot_product_attention",),
        "with three dimensions, or one head that broadcasts, the result is contiguous",
        "its dimensions lie in memory as the query's do, as with four of one size",
    ),
    "attention refuses two masks": ReleaseChange(
        "2.14",
        ("nn.functional.scaled_dot_product_attention",),
        "with four dimensions on the CPU attn_mask and is_causal both mask",
        "together they are a RuntimeError, as with three",
    ),
    "sparsity counts blocks": ReleaseChange(
        "2.14",
        ("nn.attention.flex_attention.BlockMask.sparsity",),
        "blocks at the end count whole, so that it may be less than 0",
        "it is the share of the blocks that are left out",
    ),
    "parts of block masks are as long as their rows": ReleaseChange(
        "2.14",
        ("nn.attention.flex_attention.BlockMask.__getitem__",),
        "a part has the lengths of the whole, and a fourth index is left out",
        "it is as long as the rows of blocks that were picked, and a fourth index is an IndexError",
    ),
    "block masks of other lengths": ReleaseChange(
        "2.14",
        ("nn.attention.flex_attention.flex_attention",),
        "a mask of another length is a ValueError that has both shapes",
        "it is a RuntimeError without them",
    ),
    "LBFGS maximizes": ReleaseChange(
        "2.14",
        ("optim.LBFGS",),
        "a state_dict has no maximize, unless it is used",
        "it has it, False",
    ),
    "cholesky and qr are gone": ReleaseChange(
        "2.14",
        ("cholesky", "qr", "Tensor.cholesky", "Tensor.qr"),
        "they compute linalg.cholesky and linalg.qr",
        "they raise RuntimeError and name their successors",
    ),
    "traced detach is an alias": ReleaseChange(
        "2.14",
        ("fx.experimental.proxy_tensor.make_fx",),
        "a detach is `aten.detach` in the graph",
        "it is `aten.alias`, unless operators are seen above autograd",
    ),
    "fused modules take placeholders in order": ReleaseChange(
        "2.14",
        ("fx.passes.utils.fuser_utils.fuse_as_graphmodule",),
        "what the module takes comes in the order in which its nodes use it",
        "where it takes nothing but the graph's inputs, they come in the graph's order",
    ),
    "folding asks of nested nodes": ReleaseChange(
        "2.14",
        ("fx.experimental.const_fold.split_const_subgraphs",),
        "skip_folding_node_fn is asked of the graph's own nodes",
        "it is asked of those of a child that is a GraphModule, too, which is folded as a whole",
    ),
    "unions are typing's": ReleaseChange(
        "2.14",
        ("fx.Graph.python_code",),
        'an annotation made with "or" signs is written with them',
        "it is written as typing.Union has it",
    ),
    "pytree spells": ReleaseChange(
        "2.14",
        ("utils._pytree.treespec_dumps",),
        "the error of a named tuple asks for a serializated_type_name",
        "it asks for a serialized_type_name",
    ),
    "checked sparse tensors are told": ReleaseChange(
        "2.14",
        ("load",),
        "sparse tensors of a file are checked in silence",
        "with weights_only=True a UserWarning says that they are checked",
        kept="they are checked in any case, and no program can do anything about it",
    ),
    "results of custom_op": ReleaseChange(
        "2.14",
        ("library.custom_op",),
        "a result that is no tensor where the schema has one is a RuntimeError",
        "a number is handed on",
        kept="what follows would fail further away from the mistake",
    ),
    "ldexp of negative integers": ReleaseChange(
        "2.14",
        ("ldexp",),
        "the gradient of a negative integer exponent is 0",
        "it is 2 ** other",
        kept="the older one is a mistake: torchlike has always had the newer",
    ),
    "bfloat16 beside complex numbers": ReleaseChange(
        "2.14",
        ("result_type", "mul", "dtype.to_complex"),
        "bfloat16 and a complex number give complex64",
        "they give bcomplex32, for which products and sums raise NotImplementedError on the CPU",
        kept="XLA has no complex numbers of 32 bits: complex64 stays",
    ),
}

#: The release that this process follows, as it is chosen: "2.13".
FOLLOWED = next(iter(environment_variables.TORCH_VERSION.get()), DEFAULT)


def follows(change: str) -> bool:
    """Return whether the release that is followed has a change of the table."""
    order = list(RELEASES)
    return order.index(FOLLOWED) >= order.index(CHANGES[change].since)


def error_of(newer: type[Exception]) -> type[Exception]:
    """Return the class that an error has which was a RuntimeError before "refusals have kinds"."""
    return newer if follows("refusals have kinds") else RuntimeError
