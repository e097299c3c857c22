"""``torch.library``: operators of one's own, with gradients, rules for transforms and fakes.

Imports `_ops`, `autograd` and below. Begin with ``custom_op.py``; ``registration.py`` has `Library`
and the ``register_`` functions, ``operator.py`` what an operator does when it is called.
"""

from torchlike._subclasses.fake_context import get_ctx
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
