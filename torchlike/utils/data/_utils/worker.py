"""``torch.utils.data._utils.worker``: what a worker knows about itself."""

from torchlike.utils.data.workers import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
