"""What aten's operators say of themselves: for each tag the overloads that have it.

``add.Scalar|Tensor`` are two overloads, ``abs`` is the default one. `tags_of` adds what follows
from a schema: ``out``, ``inplace``, and ``pt2_compliant_tag``, which all of them have.
"""

from __future__ import annotations

import functools

from torchlike._aten.schemas import schema
from torchlike._dispatch.tags import Tag

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
    Tag.data_dependent_output: """
        _local_scalar_dense allclose equal item
    """,
    Tag.dynamic_output_shape: """
        _unique2 argwhere bincount index.Tensor linalg_lstsq masked_select.default|out
        nonzero.default|out one_hot repeat_interleave.Tensor unique_consecutive unique_dim
    """,
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
    Tag.maybe_aliasing_or_mutating: """
        alpha_dropout atleast_1d atleast_2d atleast_3d batch_norm cartesian_prod conj_physical
        dropout feature_alpha_dropout feature_dropout unsafe_chunk
    """,
    Tag.needs_exact_strides: """
        _scaled_grouped_mm _scaled_mm.default|out _scaled_mm_v2.default|out
    """,
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
        __rshift__.Scalar|Tensor __xor__.Scalar|Tensor _conj_physical abs.default|out
        acos.default|out acos_ acosh.default|out acosh_ add.Scalar|Tensor|out add_.Scalar|Tensor
        addcdiv.default|out addcdiv_ addcmul.default|out addcmul_ angle.default|out
        asin.default|out asin_ asinh.default|out asinh_ atan.default|out atan2.default|out atan2_
        atan_ atanh.default|out atanh_
        bitwise_and.Scalar|Scalar_Tensor|Scalar_out|Tensor|Tensor_out bitwise_and_.Scalar|Tensor
        bitwise_left_shift.Scalar_Tensor|Tensor|Tensor_Scalar|Tensor_Scalar_out
        bitwise_left_shift.Tensor_out bitwise_left_shift_.Tensor|Tensor_Scalar
        bitwise_not.default|out bitwise_not_
        bitwise_or.Scalar|Scalar_Tensor|Scalar_out|Tensor|Tensor_out bitwise_or_.Scalar|Tensor
        bitwise_right_shift.Scalar_Tensor|Tensor|Tensor_Scalar|Tensor_Scalar_out
        bitwise_right_shift.Tensor_out bitwise_right_shift_.Tensor|Tensor_Scalar
        bitwise_xor.Scalar|Scalar_Tensor|Scalar_out|Tensor|Tensor_out bitwise_xor_.Scalar|Tensor
        ceil.default|out ceil_ celu celu_ clamp.default|Tensor|Tensor_out|out
        clamp_.default|Tensor clamp_max.default|Tensor|Tensor_out|out clamp_max_.default|Tensor
        clamp_min.default|Tensor|Tensor_out|out clamp_min_.default|Tensor clip.default|Tensor|out
        clip_.default|Tensor clone conj_physical.default|out conj_physical_
        copysign.Scalar|Scalar_out|Tensor|out cos.default|out cos_ cosh.default|out cosh_
        deg2rad.default|out deg2rad_ digamma.default|out digamma_
        div.Scalar|Scalar_mode|Tensor|Tensor_mode|out|out_mode
        div_.Scalar|Scalar_mode|Tensor|Tensor_mode elu elu_ eq.Scalar|Scalar_out|Tensor|Tensor_out
        equal erf.default|out erf_ erfc.default|out erfc_ erfinv.default|out erfinv_
        exp.default|out exp2.default|out exp2_ exp_ expm1.default|out expm1_
        float_power.Scalar|Scalar_out|Tensor_Scalar|Tensor_Scalar_out|Tensor_Tensor
        float_power.Tensor_Tensor_out float_power_.Scalar|Tensor floor.default|out floor_
        fmax.default|out fmin.default|out fmod.Scalar|Scalar_out|Tensor|Tensor_out
        fmod_.Scalar|Tensor frac.default|out frac_ frexp.Tensor gcd.default|out
        ge.Scalar|Scalar_out|Tensor|Tensor_out gelu gelu_backward
        gt.Scalar|Scalar_out|Tensor|Tensor_out hardshrink hardsigmoid hardsigmoid_ hardtanh
        hardtanh_ heaviside.default|out hypot.default|out hypot_ i0.default|out i0_
        igamma.default|out igamma_ igammac.default|out igammac_ isfinite isinf isnan
        isneginf.default|out isposinf.default|out lcm.default|out ldexp.Tensor|out ldexp_
        le.Scalar|Scalar_out|Tensor|Tensor_out leaky_relu leaky_relu_
        lerp.Scalar|Scalar_out|Tensor|Tensor_out lerp_.Scalar|Tensor lgamma.default|out lgamma_
        log.default|out log10.default|out log10_ log1p.default|out log1p_ log2.default|out log2_
        log_ logaddexp.default|out logaddexp2.default|out logical_and.default|out logical_and_
        logical_not.default|out logical_not_ logical_or.default|out logical_or_
        logical_xor.default|out logical_xor_ logit.default|out logit_ logit_backward
        lt.Scalar|Scalar_out|Tensor|Tensor_out masked_fill.Scalar max.other|out
        maximum.default|out min.other|out minimum.default|out mish mul.Scalar|Tensor|out
        mul_.Scalar|Tensor mvlgamma.default|out mvlgamma_ nan_to_num.default|out nan_to_num_
        native_dropout_backward ne.Scalar|Scalar_out|Tensor|Tensor_out neg.default|out neg_
        nextafter.default|out nextafter_ polygamma.default|out polygamma_ positive
        pow.Scalar|Scalar_out|Tensor_Scalar|Tensor_Scalar_out|Tensor_Tensor pow.Tensor_Tensor_out
        pow_.Scalar|Tensor rad2deg.default|out rad2deg_ reciprocal.default|out reciprocal_ relu
        relu6 relu_ remainder.Scalar|Scalar_Tensor|Scalar_out|Tensor|Tensor_out
        remainder_.Scalar|Tensor round.default|decimals|decimals_out|out round_.default|decimals
        rrelu rsqrt.default|out rsqrt_ rsub.Scalar selu selu_ sgn.default|out sgn_
        sigmoid.default|out sigmoid_ sigmoid_backward sign.default|out sign_ signbit.default|out
        silu.default|out silu_ silu_backward sin.default|out sin_ sinc.default|out sinc_
        sinh.default|out sinh_ softplus softshrink special_airy_ai.default|out
        special_bessel_j0.default|out special_bessel_j1.default|out special_bessel_y0.default|out
        special_bessel_y1.default|out
        special_chebyshev_polynomial_t.default|n_scalar|n_scalar_out|out|x_scalar
        special_chebyshev_polynomial_t.x_scalar_out
        special_chebyshev_polynomial_u.default|n_scalar|n_scalar_out|out|x_scalar
        special_chebyshev_polynomial_u.x_scalar_out
        special_chebyshev_polynomial_v.default|n_scalar|n_scalar_out|out|x_scalar
        special_chebyshev_polynomial_v.x_scalar_out
        special_chebyshev_polynomial_w.default|n_scalar|n_scalar_out|out|x_scalar
        special_chebyshev_polynomial_w.x_scalar_out special_entr.default|out
        special_erfcx.default|out
        special_hermite_polynomial_h.default|n_scalar|n_scalar_out|out|x_scalar
        special_hermite_polynomial_h.x_scalar_out
        special_hermite_polynomial_he.default|n_scalar|n_scalar_out|out|x_scalar
        special_hermite_polynomial_he.x_scalar_out special_i0e.default|out special_i1.default|out
        special_i1e.default|out
        special_laguerre_polynomial_l.default|n_scalar|n_scalar_out|out|x_scalar
        special_laguerre_polynomial_l.x_scalar_out
        special_legendre_polynomial_p.default|n_scalar|n_scalar_out|out|x_scalar
        special_legendre_polynomial_p.x_scalar_out special_log_ndtr.default|out
        special_modified_bessel_i0.default|out special_modified_bessel_i1.default|out
        special_modified_bessel_k0.default|out special_modified_bessel_k1.default|out
        special_ndtri.default|out special_scaled_modified_bessel_k0.default|out
        special_scaled_modified_bessel_k1.default|out
        special_shifted_chebyshev_polynomial_t.default|n_scalar|n_scalar_out|out|x_scalar
        special_shifted_chebyshev_polynomial_t.x_scalar_out
        special_shifted_chebyshev_polynomial_u.default|n_scalar|n_scalar_out|out|x_scalar
        special_shifted_chebyshev_polynomial_u.x_scalar_out
        special_shifted_chebyshev_polynomial_v.default|n_scalar|n_scalar_out|out|x_scalar
        special_shifted_chebyshev_polynomial_v.x_scalar_out
        special_shifted_chebyshev_polynomial_w.default|n_scalar|n_scalar_out|out|x_scalar
        special_shifted_chebyshev_polynomial_w.x_scalar_out
        special_spherical_bessel_j0.default|out
        special_xlog1py.default|other_scalar|other_scalar_out|out|self_scalar
        special_xlog1py.self_scalar_out
        special_zeta.default|other_scalar|other_scalar_out|out|self_scalar
        special_zeta.self_scalar_out sqrt.default|out sqrt_ square.default|out square_
        sub.Scalar|Tensor|out sub_.Scalar|Tensor tan.default|out tan_ tanh.default|out tanh_
        tanh_backward threshold threshold_backward true_divide.Tensor trunc.default|out trunc_
        where.self xlogy.Scalar_Other|Scalar_Self|Tensor xlogy_.Tensor
    """,
    Tag.reduction: """
        all.default|all_out|dim|dims|out amax amin aminmax any.default|all_out|dim|dims|out
        argmax.default|out argmin.default|out count_nonzero.default|dim_IntList
        linalg_vector_norm.default|out logsumexp.default|out max.default|dim
        mean.default|dim|dtype_out|out min.default|dim nansum.default|out
        norm.Scalar|ScalarOpt_dim|ScalarOpt_dim_dtype|ScalarOpt_dtype|dtype_out|out
        prod.default|dim_int|int_out std.default|correction|correction_out|dim|out
        std_mean.default|correction|dim sum.default|IntList_out|dim_IntList
        var.default|correction|correction_out|dim|out var_mean.default|correction|dim
    """,
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


@functools.cache
def _listed() -> dict[Tag, frozenset[str]]:
    """Map each tag to its overloads, as ``name.overload``."""
    return {tag: frozenset(_spelled(text)) for tag, text in _LISTED.items()}


def _spelled(text: str) -> list[str]:
    found = []
    for word in text.split():
        name, _, overloads = word.partition(".")
        found += [f"{name}.{o}" for o in (overloads or "default").split("|")]
    return found


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
