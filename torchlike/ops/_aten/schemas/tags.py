"""What aten's operators say of themselves: for each tag the overloads that have it.

They are those of aten's overloads that no definition of an op's has (``tags=``); elementwise ops
are ``pointwise`` without saying so.
``add.Scalar|Tensor`` are two overloads, ``abs`` is the default one. `tags_of` adds what follows
from a schema: ``out``, ``inplace``, and ``pt2_compliant_tag``, which all of them have.
"""

from __future__ import annotations

import functools

from torchlike._core.dispatch.registry import OPTIONS, names_with
from torchlike._ops.aten.tags import Tag
from torchlike.ops._aten.schemas import overloads_of, schema, table

_LISTED = {
    Tag.core: """
        _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward
        _embedding_bag _fft_c2r _fft_r2c _local_scalar_dense _log_softmax
        _native_batch_norm_legit.default|no_stats _native_batch_norm_legit_no_training
        _pdist_forward _softmax _to_copy abs acos acosh adaptive_avg_pool1d add.Scalar|Tensor
        addmm alias amax amin any.default|dim|dims arange.start_step argmax argmin as_strided asin
        asinh atan atan2.default|out atanh avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d
        bitwise_and.Scalar|Tensor bitwise_not bitwise_or.Scalar|Tensor bitwise_xor.Scalar|Tensor
        bmm cat ceil clamp.default|Tensor clone col2im constant_pad_nd convolution
        convolution_backward copy cos cosh cumsum diagonal
        div.Scalar|Scalar_mode|Tensor|Tensor_mode elu embedding embedding_dense_backward
        empty.memory_format empty_strided eq.Scalar|Tensor erf exp expand expm1 fill.Scalar flip
        floor fmod.Scalar|Tensor full full_like gather ge.Scalar|Tensor gelu grid_sampler_2d
        gt.Scalar|Tensor hardtanh index.Tensor index_put index_select isinf isnan le.Scalar|Tensor
        leaky_relu log log10 log1p log2 logical_and logical_not logical_or logical_xor
        lt.Scalar|Tensor masked_scatter max.dim max_pool2d_with_indices
        max_pool2d_with_indices_backward max_pool3d_with_indices maximum mean.default|dim min.dim
        minimum mm mul.Scalar|Tensor native_dropout native_group_norm native_group_norm_backward
        native_layer_norm native_layer_norm_backward ne.Scalar|Tensor neg nonzero permute
        pow.Scalar|Tensor_Scalar|Tensor_Tensor prod.default|dim_int rand randn randperm reciprocal
        reflection_pad1d reflection_pad2d reflection_pad3d relu remainder.Scalar|Tensor repeat
        replication_pad2d replication_pad3d resize_ round rsqrt scalar_tensor scatter.src|value
        scatter_add scatter_reduce.two select.int select_scatter sigmoid sign sin sinh
        slice.Tensor slice_scatter sort split_with_sizes sqrt squeeze.dim|dims sub.Scalar|Tensor
        sum.dim_IntList sym_numel sym_size.int sym_storage_offset sym_stride.int tan tanh topk
        trunc unsqueeze upsample_bilinear2d.vec upsample_nearest2d.vec var.correction|dim view
        where.self
    """,
    Tag.data_dependent_output: "_local_scalar_dense item",
    Tag.dynamic_output_shape: "_unique2 index.Tensor linalg_lstsq one_hot unique_dim",
    Tag.generated: """
        _native_batch_norm_legit_functional
        _dirichlet_grad.out _pin_memory.out _resize_output _sample_dirichlet.out
        _standard_gamma.out _standard_gamma_grad.out adaptive_avg_pool1d.out add.Scalar_out
        alias_copy.out bernoulli.Tensor|Tensor_out|float_out binary_cross_entropy_with_logits.out
        bincount.out binomial.out bitwise_and.Scalar_Tensor_out
        bitwise_left_shift.Scalar_Tensor_out bitwise_or.Scalar_Tensor_out
        bitwise_right_shift.Scalar_Tensor_out bitwise_xor.Scalar_Tensor_out bucketize.Scalar_out
        celu.out channel_shuffle.out clone.out conv_tbc.out count_nonzero.out dequantize.self_out
        detach_copy.out diag_embed.out diagonal_copy.out diagonal_scatter.out dist.out
        div.Scalar_mode_out|Scalar_out embedding.out exponential fill.Scalar_out|Tensor_out
        floor_divide.Scalar_out grid_sampler_2d.out grid_sampler_3d.out
        index_fill.int_Scalar_out|int_Tensor_out int_repr.out isinf.out isnan.out
        linalg_matrix_exp.out masked_fill.Scalar_out|Tensor_out masked_scatter.out mul.Scalar_out
        native_dropout_backward.out norm.ScalarOpt_dtype_out|Scalar_out pixel_shuffle.out
        pixel_unshuffle.out poisson.out prod.out put.out q_per_channel_scales.out
        q_per_channel_zero_points.out quantize_per_channel.out
        quantize_per_tensor.out|tensor_qparams_out quantize_per_tensor_dynamic.out relu.out
        remainder.Scalar_Tensor_out repeat_interleave.Tensor_out resize rsub.Scalar_out|Tensor_out
        segment_reduce.out select_copy.int_out select_scatter.out slice_copy.Tensor_out
        slice_scatter.out squeeze_copy.dim_out|out sub.Scalar_out sum.out t_copy.out trace.out
        transpose_copy.int_out unfold_copy.out uniform unsqueeze_copy.out view_as_complex_copy.out
        view_as_real_copy.out view_copy.dtype_out zero
    """,
    Tag.inplace_view: """
        as_strided_ detach_ resize_ resize_as_
        set_.default|source_Tensor|source_Tensor_storage_offset
        squeeze_.default|dim|dims swapaxes_ swapdims_ t_ transpose_ unsqueeze_
    """,
    Tag.needs_exact_strides: "_scaled_grouped_mm",
    Tag.nondeterministic_seeded: """
        _sample_dirichlet.default|out _scaled_dot_product_attention_math
        _scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention
        _scaled_dot_product_flash_attention.default|quantized
        _scaled_dot_product_flash_attention_for_cpu _standard_gamma.default|out alpha_dropout
        alpha_dropout_ bernoulli.default|Tensor|Tensor_out|float_out|out|p bernoulli_.Tensor|float
        binomial.default|out cauchy_ dropout dropout_ exponential exponential_
        feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ geometric_
        gru.data|input log_normal_ lstm.data|input multinomial.default|out native_dropout
        normal.Tensor_Tensor|Tensor_Tensor_out|Tensor_float|Tensor_float_out|float_Tensor
        normal.float_Tensor_out|float_float normal_ normal_functional poisson.default|out
        rand.default|generator rand_like.default|generator
        randint.default|generator|low|low_generator
        randint_like.default|Tensor|Tensor_generator|generator|low_dtype
        randint_like.low_generator_dtype randn.default|generator randn_like.default|generator
        random_.default|from|to randperm.default|generator rnn_relu.data|input rnn_tanh.data|input
        rrelu rrelu_ rrelu_with_noise rrelu_with_noise_ scaled_dot_product_attention uniform
        uniform_
    """,
    Tag.pointwise: """
        __ilshift__.Scalar|Tensor __ixor__.Scalar|Tensor __lshift__.Scalar|Tensor
        __rshift__.Scalar|Tensor __xor__.Scalar|Tensor _conj_physical clip.Tensor|default|out
        clip_.Tensor|default clone equal gelu_backward logit_backward masked_fill.Scalar
        max.other|out min.other|out native_dropout_backward positive
        pow.Scalar|Scalar_out|Tensor_Scalar|Tensor_Scalar_out|Tensor_Tensor|Tensor_Tensor_out
        pow_.Scalar|Tensor rrelu sigmoid_backward silu_backward tanh_backward threshold_backward
        true_divide.Tensor
    """,
    Tag.reduction: "linalg_vector_norm.default|out",
    Tag.view_copy: """
        _conj_copy _neg_view_copy _reshape_alias_copy alias_copy.default|out as_strided_copy
        detach_copy.default|out diagonal_copy.default|out expand_copy lift_fresh_copy narrow_copy
        permute_copy select_copy.int|int_out slice_copy.Tensor|Tensor_out
        slice_scatter.default|out split_copy.Tensor split_with_sizes_copy
        squeeze_copy.default|dim|dim_out|dims|out t_copy.default|out transpose_copy.int|int_out
        unbind_copy.int unfold_copy.default|out unsqueeze_copy.default|out
        view_as_complex_copy.default|out view_as_real_copy.default|out
        view_copy.default|dtype|dtype_out
    """,
}

#: Overloads of elementwise ops that PyTorch has not tagged so.
_NOT_POINTWISE = """
    abs_ argsort.default|stable|stable_out complex.default|out copysign_.Scalar|Tensor elu.out
    eq.Tensor_list eq_.Scalar|Tensor fake_quantize_per_tensor_affine.default|tensor_qparams flip
    floor_divide.Scalar|default|out floor_divide_.Scalar|Tensor gcd_ ge_.Scalar|Tensor gelu.out
    gelu_ gt_.Scalar|Tensor hardshrink.out hardsigmoid.out hardswish.default|out hardswish_
    hardtanh.out heaviside_ isclose isreal lcm_ le_.Scalar|Tensor leaky_relu.out lt_.Scalar|Tensor
    mish.out mish_ ne.Tensor_list ne_.Scalar|Tensor polar.default|out relu6_ rsub.Tensor
    softplus.out softshrink.out sort.default|stable special_ndtr.default|out threshold.out
    threshold_ where.Scalar|ScalarOther|ScalarSelf|default|self_out xlogy_.Scalar_Other
    """


@functools.cache
def _listed() -> dict[Tag, frozenset[str]]:
    """Map each tag to its overloads, as ``name.overload``."""
    found: dict[Tag, set[str]] = {tag: set() for tag in Tag}
    for tag, text in _LISTED.items():
        for word in text.split():
            found[tag].update(_overloads(*word.partition(".")[::2]))
    for name in names_with("tags"):
        for word in OPTIONS[name]["tags"].split():
            tag, _, overloads = word.partition(".")
            found[Tag[tag]].update(_overloads(name, overloads))
    found[Tag.pointwise] |= _of_elementwise_ops() - found[Tag.generated]
    return {tag: frozenset(overloads) for tag, overloads in found.items() if overloads}


def _of_elementwise_ops() -> set[str]:
    """Return the overloads of ops that compute each element by itself (``elementwise=True``)."""
    names = {name for own in table() for name in (own, f"{own}_")}
    found = {
        f"{name}.{overload or 'default'}"
        for name in names
        if OPTIONS.get(_op_of(name), {}).get("elementwise")
        for overload in overloads_of(name)
    }
    apart = [_overloads(*word.partition(".")[::2]) for word in _NOT_POINTWISE.split()]
    return found.difference(*apart)


def _op_of(name: str) -> str:
    """Return what the op of an operator of aten's is called: ``special_i1`` is ``i1``."""
    own = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    other = own.removeprefix("special_")
    return own if overloads_of(other) else other


def _overloads(name: str, overloads: str) -> list[str]:
    return [f"{name}.{o}" for o in (overloads or "default").split("|")]


@functools.cache
def tags_of(name: str, overload: str) -> tuple[Tag, ...]:
    """Return the tags of an overload of aten's ("" for the default one), in PyTorch's order.

    KeyError for one without a schema.
    """
    given = schema(name, overload)
    spelled = f"{name}.{overload or 'default'}"
    tags = {tag for tag, overloads in _listed().items() if spelled in overloads}
    tags.add(Tag.pt2_compliant_tag)
    if any(a.is_out for a in given.arguments):
        tags.add(Tag.out)
    elif given.is_mutable and (name.startswith("__i") or name.endswith("_")):
        tags.add(Tag.inplace)
    return tuple(sorted(tags))
