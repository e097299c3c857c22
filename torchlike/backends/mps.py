"""``torch.backends.mps``: JAX's Metal backend is not supported."""

from torchlike.mps import is_available, without_backend

is_built = is_available
is_macos_or_newer = without_backend("isOnMacOSorNewer", "is_macos_or_newer")
