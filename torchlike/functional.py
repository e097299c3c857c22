"""``torch.functional``: some of the package's functions, under the path PyTorch keeps them at."""

from __future__ import annotations

from torchlike._dispatch.registry import NAMESPACES as _NAMESPACES

_NAMES = (
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
)

globals().update({name: _NAMESPACES[""][name] for name in _NAMES})
