"""View functions: tensors on the same storage. One function for each view kind."""

from torchlike._core.dispatch.schema import require_tensor
from torchlike._ops.shape.views import in_place as in_place
from torchlike._ops.shape.views.aliasing import alias, detach, detach_
from torchlike._ops.shape.views.complex_parts import conj, imag, real, view_as_complex, view_as_real
from torchlike._ops.shape.views.expanding import broadcast_to, expand, expand_as, squeeze, unsqueeze
from torchlike._ops.shape.views.permuting import adjoint, movedim, permute, t, transpose
from torchlike._ops.shape.views.reshaping import (
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
from torchlike._ops.shape.views.slicing import diagonal, narrow, select, sliced
from torchlike._ops.shape.views.splitting import (
    chunk,
    split,
    split_with_sizes,
    tensor_split,
    unbind,
)
from torchlike._ops.shape.views.strided import as_strided, unfold_op
from torchlike._ops.shape.views.view_factory import make_view, shape_arguments
