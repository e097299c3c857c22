"""Ops: one family a file. Importing a family registers it; see dispatch.registry.op."""

from torchlike.ops import (  # noqa: I001 - views come first: creation and indexing build on them
    views as views,
    creation as creation,
    exchange as exchange,
    sequences as sequences,
    conversion as conversion,
    resizing as resizing,
    pointwise as pointwise,
    comparison as comparison,
    unary as unary,
    reduction as reduction,
    matmul as matmul,
    indexing as indexing,
    activation as activation,
    softmax as softmax,
    conv as conv,
    blocks as blocks,
    pooling as pooling,
    adaptive_pooling as adaptive_pooling,
    normalization as normalization,
    loss as loss,
    elementwise_loss as elementwise_loss,
    margin_loss as margin_loss,
    numbered_losses as numbered_losses,
    embedding as embedding,
    attention as attention,
    recurrent as recurrent,
    padding as padding,
    resampling as resampling,
    fake_quantization as fake_quantization,
    operators as operators,
    joining as joining,
    masking as masking,
    gathering as gathering,
    scattering as scattering,
    shaping as shaping,
    triangular as triangular,
    sorting as sorting,
    uniqueness as uniqueness,
    queries as queries,
    statistics as statistics,
    decompositions as decompositions,
    solving as solving,
    matrix_functions as matrix_functions,
    norms as norms,
    fourier as fourier,
    special as special,
    spectral as spectral,
    legacy as legacy,
    random as random,
    dropout as dropout,
    ctc as ctc,
    multihead as multihead,
    fractional_pooling as fractional_pooling,
    stochastic as stochastic,
    linear_loss as linear_loss,
    pairwise as pairwise,
    samplers as samplers,
    beta_gradient as beta_gradient,
    special_bessel as special_bessel,
    special_polynomials as special_polynomials,
    copies as copies,
    exponents as exponents,
    hashing as hashing,
    sizes as sizes,
    native as native,
    segments as segments,
    histograms as histograms,
    lowrank as lowrank,
    reflectors as reflectors,
    indefinite as indefinite,
    grouped as grouped,
    aten as aten,
    identity as identity,
    time_major as time_major,
    regions_of_interest as regions_of_interest,
    assertions as assertions,
)

import importlib.util as _util
from typing import Any as _Any

from torchlike.ops.custom import find as _find
from torchlike.ops.custom import load_library as load_library


def __getattr__(name: str) -> _Any:
    """The operators of a namespace, as ``torch.ops.namespace``: any name is one, as in PyTorch."""
    if name.startswith("_") or _util.find_spec(f"{__name__}.{name}") is not None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = globals()[name] = _find(name)
    return found
