"""``torch.Tag``: what an operator says of itself (``torch.ops.aten.add.Tensor.tags``).

torchlike's own compiler does not ask for them: what it may do with an operator follows from what
that is made of.
"""

from __future__ import annotations

import enum

Tag = enum.IntEnum(
    "Tag",
    """core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated
    inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides
    needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant
    pointwise pt2_compliant_tag reduction view_copy""",
    start=0,
    module=__name__,
)
Tag.__doc__ = "What an operator says of itself."
