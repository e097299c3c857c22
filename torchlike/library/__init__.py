"""``torch.library``: operators of one's own, with gradients, rules for transforms and fakes."""

from torchlike._compat.unsupported import functions as _unsupported
from torchlike.library.custom_op import CustomOpDef, custom_op
from torchlike.library.infer import infer_schema
from torchlike.library.opcheck import opcheck
from torchlike.library.registration import (
    Library,
    define,
    impl,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from torchlike.library.registration import (
    _scoped_library as _scoped_library,
)

#: PyTorch's older name.
impl_abstract = register_fake

globals().update(_unsupported("library"))
