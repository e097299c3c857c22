"""How PyTorch's functions that are written in Python pass themselves on to ``__torch_function__``.

A function of its compiled core hands over the arguments as they came, and no dictionary where there
are no keywords. One that is written in Python names all its arguments, the defaults too: a graph of
``relu(x)`` holds ``inplace=False``. Each line is a function: what it passes by position, after the
bar what by keyword, and after the slash what it does not pass on. ``*spread``: a list after the
first argument is passed on as if its elements had been given.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple


class Form(NamedTuple):
    """How one function passes itself on."""

    #: Names of its parameters in order, and the defaults.
    names: tuple[str, ...]
    defaults: dict[str, Any]
    by_position: tuple[str, ...]
    by_keyword: tuple[str, ...]

    def passed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Return the arguments as a call passes them on; None for those that the function
        refuses."""
        if self.by_position and self.by_position[0].startswith("*"):
            if self.by_position == ("*spread",) and len(args) == 2 and type(args[0]) is str:
                args = (args[0], *args[1]) if isinstance(args[1], (tuple, list)) else args
            return (args, {**self.defaults, **kwargs}) if args else None
        if len(args) > len(self.names) or not kwargs.keys() <= set(self.names[len(args) :]):
            return None
        values = {**self.defaults, **dict(zip(self.names, args, strict=False)), **kwargs}
        if any(name not in values for name in self.names):
            return None
        return (
            tuple([values[n] for n in self.by_position]),
            {n: values[n] for n in self.by_keyword},
        )


_FUNCTIONAL = """
adaptive_avg_pool2d: input output_size
adaptive_avg_pool3d: input output_size
affine_grid: theta size | align_corners=None
alpha_dropout: input | p=0.5 training=False inplace=False
batch_norm: input running_mean running_var | weight=None bias=None training=False momentum=0.1
    eps=1e-05
binary_cross_entropy: input target | weight=None size_average=None reduce=None reduction='mean'
binary_cross_entropy_with_logits: input target | weight=None size_average=None reduce=None
    reduction='mean' pos_weight=None
celu: input | alpha=1.0 inplace=False
cosine_embedding_loss: input1 input2 target | margin=0 size_average=None reduce=None
    reduction='mean'
cross_entropy: input target | weight=None size_average=None ignore_index=-100 reduce=None
    reduction='mean' label_smoothing=0.0
ctc_loss: log_probs targets input_lengths target_lengths | blank=0 reduction='mean'
    zero_infinity=False
dropout: input | p=0.5 training=True inplace=False
dropout1d: input | p=0.5 training=True inplace=False
dropout2d: input | p=0.5 training=True inplace=False
dropout3d: input | p=0.5 training=True inplace=False
elu: input | alpha=1.0 inplace=False
embedding: input weight | padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False
    sparse=False
embedding_bag: input weight | offsets=None max_norm=None norm_type=2 scale_grad_by_freq=False
    mode='mean' sparse=False per_sample_weights=None include_last_offset=False padding_idx=None
feature_alpha_dropout: input | p=0.5 training=False inplace=False
adaptive_max_pool1d: input output_size | return_indices=False
adaptive_max_pool2d: input output_size | return_indices=False
adaptive_max_pool3d: input output_size | return_indices=False
max_pool1d: input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False
    return_indices=False
max_pool2d: input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False
    return_indices=False
max_pool3d: input kernel_size | stride=None padding=0 dilation=1 ceil_mode=False
    return_indices=False
fractional_max_pool2d: input kernel_size | output_size=None output_ratio=None
    return_indices=False
    _random_samples=None
fractional_max_pool3d: input kernel_size | output_size=None output_ratio=None
    return_indices=False
    _random_samples=None
hardswish: input | inplace=False
hardsigmoid: input | inplace=False
threshold: input threshold value | inplace=False
fold: input output_size kernel_size | dilation=1 padding=0 stride=1
gaussian_nll_loss: input target var | full=False eps=1e-06 reduction='mean'
glu: input | dim=-1
grid_sample: input grid | mode='bilinear' padding_mode='zeros' align_corners=None
group_norm: input num_groups | weight=None bias=None eps=1e-05
gumbel_softmax: logits | tau=1 hard=False eps=1e-10 dim=-1
hardtanh: input | min_val=-1.0 max_val=1.0 inplace=False
hinge_embedding_loss: input target | margin=1.0 size_average=None reduce=None reduction='mean'
huber_loss: input target | reduction='mean' delta=1.0 weight=None
instance_norm: input | running_mean=None running_var=None weight=None bias=None
    use_input_stats=True momentum=0.1 eps=1e-05
interpolate: input | size=None scale_factor=None mode='nearest' align_corners=None
    recompute_scale_factor=None antialias=False
kl_div: input target | size_average=None reduce=None reduction='mean' log_target=False
l1_loss: input target | size_average=None reduce=None reduction='mean' / weight=None
layer_norm: input normalized_shape | weight=None bias=None eps=1e-05
leaky_relu: input | negative_slope=0.01 inplace=False
linear_cross_entropy: input linear_weight target | linear_bias=None weight=None reduction='mean'
    ignore_index=None label_smoothing=0.0 options=None
local_response_norm: input size | alpha=0.0001 beta=0.75 k=1.0
log_softmax: input | dim=None _stacklevel=3 dtype=None
lp_pool1d: input norm_type kernel_size | stride=None ceil_mode=False
lp_pool2d: input norm_type kernel_size | stride=None ceil_mode=False
lp_pool3d: input norm_type kernel_size | stride=None ceil_mode=False
margin_ranking_loss: input1 input2 target | margin=0 size_average=None reduce=None
    reduction='mean'
max_unpool1d: input indices kernel_size | stride=None padding=0 output_size=None
max_unpool2d: input indices kernel_size | stride=None padding=0 output_size=None
max_unpool3d: input indices kernel_size | stride=None padding=0 output_size=None
mish: input | inplace=False
mse_loss: input target | size_average=None reduce=None reduction='mean' weight=None
multi_head_attention_forward: query key value embed_dim_to_check num_heads in_proj_weight
    in_proj_bias bias_k bias_v add_zero_attn dropout_p out_proj_weight out_proj_bias |
    training=True key_padding_mask=None need_weights=True attn_mask=None is_causal=False
    use_separate_proj_weight=False q_proj_weight=None k_proj_weight=None v_proj_weight=None
    static_k=None static_v=None average_attn_weights=True
multi_margin_loss: input target | p=1 margin=1.0 weight=None size_average=None reduce=None
    reduction='mean'
multilabel_margin_loss: input target | size_average=None reduce=None reduction='mean'
multilabel_soft_margin_loss: input target | weight=None size_average=None reduce=None
    reduction='mean'
nll_loss: input target | weight=None size_average=None ignore_index=-100 reduce=None
    reduction='mean'
normalize: input | p=2.0 dim=1 eps=1e-12 out=None
pad: input pad | mode='constant' value=None
poisson_nll_loss: input target | log_input=True full=False size_average=None eps=1e-08 reduce=None
    reduction='mean'
relu: input | inplace=False
relu6: input | inplace=False
rms_norm: input normalized_shape | weight=None eps=None
rrelu: input | lower=0.125 upper=0.3333333333333333 training=False inplace=False
selu: input | inplace=False
silu: input | inplace=False
smooth_l1_loss: input target | size_average=None reduce=None reduction='mean' beta=1.0
soft_margin_loss: input target | size_average=None reduce=None reduction='mean'
softmax: input | dim=None _stacklevel=3 dtype=None
softmin: input | dim=None _stacklevel=3 dtype=None
softsign: input
tanhshrink: input
triplet_margin_loss: anchor positive negative | margin=1.0 p=2 eps=1e-06 swap=False
    size_average=None reduce=None reduction='mean'
triplet_margin_with_distance_loss: anchor positive negative | distance_function=None margin=1.0
    swap=False reduction='mean'
unfold: input kernel_size | dilation=1 padding=0 stride=1
"""
_TORCH = """
cdist: x1 x2 | p=2.0 compute_mode='use_mm_for_euclid_dist_if_necessary'
norm: input | p='fro' dim=None keepdim=False out=None dtype=None
pca_lowrank: A | q=None center=True niter=2
atleast_1d: *tensors
atleast_2d: *tensors
atleast_3d: *tensors
broadcast_tensors: *tensors
block_diag: *tensors
cartesian_prod: *tensors
chain_matmul: *matrices
einsum: *spread
meshgrid: *tensors | indexing=None
lu: A | pivot=True get_infos=False out=None
unique: input | sorted=True return_inverse=False return_counts=False dim=None
unique_consecutive: input | return_inverse=False return_counts=False dim=None
split: tensor split_size_or_sections | dim=0
stft: input n_fft | hop_length=None win_length=None window=None center=True pad_mode='reflect'
    normalized=False onesided=None return_complex=None align_to_window=None
svd_lowrank: A | q=6 niter=2 M=None
tensordot: a b | dims=2 out=None
unravel_index: indices | shape
"""
_TENSOR = """
__pow__: self other
__ipow__: self other
__array__: self | dtype=None
__array_wrap__: self | array
__contains__: self element
__deepcopy__: self memo
__dlpack__: self | stream=-1 max_version=None dl_device=None copy=None
__dlpack_device__: self
__floordiv__: self other
__format__: self format_spec
__len__: self
__rdiv__: self other
__reduce_ex__: self proto
__repr__: self | tensor_contents=None
__reversed__: self
__rfloordiv__: self other
__rlshift__: self other
__rmatmul__: self other
__rmod__: self other
__rpow__: self other
__rrshift__: self other
__rsub__: self other
__rtruediv__: self other
__setstate__: self state
backward: self | gradient=None retain_graph=None create_graph=False inputs=None
dim_order: self / ambiguity_check=False
is_shared: self
istft: self n_fft | hop_length=None win_length=None window=None center=True normalized=False
    onesided=None length=None return_complex=False
lu: self | pivot=True get_infos=False
module_load: self other | assign=False
norm: self | p='fro' dim=None keepdim=False dtype=None
register_hook: self hook
register_post_accumulate_grad_hook: self hook
share_memory_: self
split: self split_size | dim=0
stft: self n_fft | hop_length=None win_length=None window=None center=True pad_mode='reflect'
    normalized=False onesided=None return_complex=None align_to_window=None
storage: self
unflatten: self dim sizes
unique: self | sorted=True return_inverse=False return_counts=False dim=None
unique_consecutive: self | return_inverse=False return_counts=False dim=None
"""


def read(line: str) -> tuple[str, Form]:
    """Return the name and the form that a line describes."""
    name, _, rest = line.partition(": ")
    passed, _, dropped = rest.partition(" / ")
    positions, _, keywords = passed.partition(" | ")
    defaults: dict[str, Any] = {}
    groups = []
    for group in (positions, keywords, dropped):
        names = []
        for item in group.split():
            own, equals, default = item.partition("=")
            names.append(own)
            if equals:
                defaults[own] = ast.literal_eval(default)
        groups.append(tuple(names))
    return name, Form(groups[0] + groups[1] + groups[2], defaults, groups[0], groups[1])


def table(room: str) -> dict[str, Form]:
    """Return the forms of a room by name: "nn.functional", "" (torch) or "Tensor"."""
    text = {"nn.functional": _FUNCTIONAL, "": _TORCH, "Tensor": _TENSOR}.get(room, "")
    return dict(read(line) for line in text.replace("\n    ", " ").splitlines() if line)
