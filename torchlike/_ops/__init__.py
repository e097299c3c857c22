"""Ops: one family a file, which importing registers (see _core.dispatch.registry.op).

Imports `_core`, `_extensions`, `_runtime` and `random`. Begin with ``elementwise/unary.py``; what
``@op`` may say is in ``_core/dispatch/spec.py``. Families are folders: ``elementwise/``,
``reduce/``, ``linalg/``, ``shape/`` (views are in ``shape/views/``), ``indexing/``, ``creation/``,
``random/``, ``fourier/``, ``special/``, ``nn/`` (a folder for each kind of layer), ``aten/`` (other
names). Beside them is what families share: ``promotion.py``, ``checks.py``, ``value_checks.py``,
``memory_order.py``, ``outputs.py`` (``out=`` of composites). docs/design/ops.md adds an op.

The order below matters: views come first, creation and indexing build on them.
"""

# ruff: isort: skip_file
from torchlike._ops import memory_order as memory_order
from torchlike._ops.shape import views as views
from torchlike._ops.creation import (
    filled as filled,
    from_data as from_data,
    old_constructors as old_constructors,
    exchange as exchange,
    sequences as sequences,
    conversion as conversion,
    shared_memory as shared_memory,
)
from torchlike._ops.shape import resizing as resizing
from torchlike._ops.elementwise import (
    pointwise as pointwise,
    comparison as comparison,
    unary as unary,
)
from torchlike._ops.reduce import reduction as reduction
from torchlike._ops.linalg import matmul as matmul
from torchlike._ops.indexing import indexing as indexing
from torchlike._ops.elementwise import activation as activation
from torchlike._ops.linalg import fused_products as fused_products
from torchlike._ops.nn.norm import softmax as softmax
from torchlike._ops.nn.conv import ops as conv, blocks as blocks
from torchlike._ops.nn.pool import pooling as pooling, adaptive_pooling as adaptive_pooling
from torchlike._ops.nn.norm import normalization as normalization
from torchlike._ops.nn.loss import (
    loss as loss,
    elementwise_loss as elementwise_loss,
    margin_loss as margin_loss,
)
from torchlike._ops.aten import numbered_bags as numbered_bags, numbered_losses as numbered_losses
from torchlike._ops.nn.embedding import embedding as embedding
from torchlike._ops.nn.attention import attention as attention
from torchlike._ops.nn.recurrent import recurrent as recurrent
from torchlike._ops.nn.image import padding as padding, resampling as resampling
from torchlike._ops.elementwise import fake_quantization as fake_quantization
from torchlike._ops.aten import operators as operators
from torchlike._ops.shape import joining as joining
from torchlike._ops.indexing import (
    masking as masking,
    gathering as gathering,
    scattering as scattering,
)
from torchlike._ops.shape import shaping as shaping, triangular as triangular
from torchlike._ops.reduce import (
    searching as searching,
    sorting as sorting,
    uniqueness as uniqueness,
)
from torchlike._ops.aten import queries as queries
from torchlike._ops.reduce import statistics as statistics
from torchlike._ops.linalg import (
    decompositions as decompositions,
    lu as lu,
    solving as solving,
    matrix_functions as matrix_functions,
    norms as norms,
)
from torchlike._ops.fourier import fourier as fourier
from torchlike._ops.special import special as special
from torchlike._ops.fourier import spectral as spectral
from torchlike._ops.aten import legacy as legacy
from torchlike._ops.random import random as random, choices as choices, dropout as dropout
from torchlike._ops.random import sampling as drawing
from torchlike._ops.nn.loss import ctc as ctc
from torchlike._ops.nn.attention import multihead as multihead
from torchlike._ops.nn.pool import fractional_pooling as fractional_pooling
from torchlike._ops.random import stochastic as stochastic
from torchlike._ops.nn.loss import linear_loss as linear_loss
from torchlike._ops.linalg import pairwise as pairwise
from torchlike._ops.linalg import total_norm as total_norm
from torchlike._ops.random import samplers as samplers, beta_gradient as beta_gradient
from torchlike._ops.special import (
    special_bessel as special_bessel,
    special_polynomials as special_polynomials,
)
from torchlike._ops.aten import copies as copies
from torchlike._ops.elementwise import exponents as exponents
from torchlike._ops.reduce import hashing as hashing
from torchlike._ops.shape import sizes as sizes
from torchlike._ops.aten import native as native
from torchlike._ops.reduce import segments as segments, histograms as histograms
from torchlike._ops.linalg import (
    roots as roots,
    lowrank as lowrank,
    lobpcg as lobpcg,
    reflectors as reflectors,
    indefinite as indefinite,
    grouped as grouped,
    low_bit as low_bit,
    dynamic_quantization as dynamic_quantization,
)
from torchlike._ops.aten import (
    identity as identity,
    subclasses as subclasses,
    time_major as time_major,
)
from torchlike._ops.nn.image import regions_of_interest as regions_of_interest
from torchlike._ops.aten import assertions as assertions, older_methods as older_methods
from torchlike._ops.aten.custom import (
    HigherOrderOperator as HigherOrderOperator,
    OpOverload as OpOverload,
    OpOverloadPacket as OpOverloadPacket,
)
from torchlike._runtime.lazy import LazyModule as _LazyModule

#: Libraries ask ``torch._ops`` for it.
ops = _LazyModule("torchlike.ops")
