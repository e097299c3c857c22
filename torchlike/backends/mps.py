"""``torch.backends.mps``: JAX's Metal backend is not supported."""

from torchlike._compat.devices.mps import is_available, without_backend

is_built = is_available
is_macos_or_newer = without_backend("isOnMacOSorNewer", "is_macos_or_newer", __name__)
is_macos13_or_newer = without_backend("isOnMacOSorNewer", "is_macos13_or_newer", __name__)
get_core_count = without_backend("getCoreCount", "get_core_count", __name__)
get_name = without_backend("getName", "get_name", __name__)
