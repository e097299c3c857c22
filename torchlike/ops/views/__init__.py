"""View functions: tensors on the same storage. One function per kind of ``torchlike.views``."""

from torchlike.ops.views import in_place as in_place
from torchlike.ops.views.aliasing import alias, detach, detach_
from torchlike.ops.views.complex_parts import conj, imag, real, view_as_complex, view_as_real
from torchlike.ops.views.expanding import broadcast_to, expand, expand_as, squeeze, unsqueeze
from torchlike.ops.views.making import make_view, require_tensor, shape_arguments
from torchlike.ops.views.permuting import adjoint, movedim, permute, t, transpose
from torchlike.ops.views.reshaping import (
    flatten,
    infer_size,
    ravel,
    reshape,
    reshape_as,
    reshaped,
    unflatten,
    view,
    view_as,
    view_or_none,
)
from torchlike.ops.views.slicing import diagonal, narrow, select, sliced
from torchlike.ops.views.splitting import chunk, split, split_with_sizes, tensor_split, unbind
from torchlike.ops.views.strided import as_strided, unfold_op
