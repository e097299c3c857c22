"""``torch.utils.data._utils.worker``: what a worker knows about itself."""

from torchlike.utils.data.workers import WorkerInfo, get_worker_info, numpy_seeds

__all__ = ["WorkerInfo", "_generate_state", "get_worker_info"]


def __getattr__(name: str) -> WorkerInfo | None:
    if name == "_worker_info":
        return get_worker_info()
    raise AttributeError(f"module 'torch.utils.data._utils.worker' has no attribute {name!r}")


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return four numbers that seed NumPy's generator in a worker."""
    return numpy_seeds(worker_id, base_seed).tolist()
