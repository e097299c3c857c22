"""``torch.hub``: files from the web, kept; models from a local directory with a hubconf.py."""

from __future__ import annotations

import errno
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from torchlike._runtime import whole_files
from torchlike.serialization import load as load_file

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

#: The first eight digits or more of a file's SHA-256, as model files carry them in their names.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_BLOCK = 128 * 1024
_chosen: str | None = None


class _Silent:
    """A bar that shows nothing, where the package ``tqdm`` is not installed."""

    def __init__(self, iterable: Any = (), **options: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Any:
        return iter(self._iterable)

    def update(self, n: float = 1) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None: ...


def __getattr__(name: str) -> Any:
    """Import ``tqdm`` when it is asked for, which takes a while and is seldom needed."""
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    try:
        found = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        found = _Silent
    globals()[name] = found
    return found


def get_dir() -> str:
    """Return the folder in which files are kept: as ``set_dir`` said, else ``$TORCH_HOME/hub``,
    else under the user's cache."""
    return os.path.join(_get_torch_home(), "hub") if _chosen is None else _chosen


def _get_torch_home() -> str:
    # torchvision keeps its data sets below it.
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose where files are kept."""
    global _chosen
    _chosen = os.path.expanduser(d)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download a file; it appears at ``dst`` only when it is whole.

    RuntimeError when its SHA-256 does not begin with ``hash_prefix``. ``progress`` is accepted.
    """
    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    request = Request(url, headers={"User-Agent": "torch.hub"})
    with urlopen(request) as response, whole_files.writing(dst) as file:
        while block := response.read(_BLOCK):
            file.write(block)
            digest.update(block)
        found = digest.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Load a checkpoint from the web, or from where it was kept the last time.

    Args:
      model_dir: where it is kept, by default ``get_dir()/checkpoints``.
      check_hash: its name carries the beginning of its SHA-256, which must fit.
      file_name: another name to keep it under.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    kept = os.path.join(folder, name)
    if not os.path.exists(kept):
        sys.stderr.write(f'Downloading: "{url}" to {kept}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, kept, match.group(1) if match else None, progress)
    return load_file(kept, map_location=map_location, weights_only=weights_only)


# -- models ----------------------------------------------------------------------------------------


def _entries(repo: str, source: str) -> Any:
    """Execute ``hubconf.py`` of a local directory, and return the module."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(
            "torch.hub.load: models on GitHub are written for PyTorch, and are not fetched. Use "
            "instead: a clone of the repository, with source='local'."
        )
    path = os.path.join(repo, "hubconf.py")
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, repo)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(repo)
    missing = [
        name
        for name in getattr(module, "dependencies", ())
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: Any, name: str) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call the entry ``model`` of a directory's ``hubconf.py`` with the arguments.

    NotImplementedError for ``source="github"``; ValueError for another source; RuntimeError for an
    unknown entry or a missing dependency.
    """
    return _entry(_entries(repo_or_dir, source), model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
    *,
    source: str = "github",
) -> Any:
    """Return the names of a directory's entries (with ``source="local"``)."""
    module = _entries(github, source)
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    *,
    source: str = "github",
) -> str | None:
    """Return the documentation of an entry (with ``source="local"``)."""
    return _entry(_entries(github, source), model).__doc__


def _no_longer(name: str) -> None:
    warnings.warn(f"torch.hub.{name} has moved to torch.hub.download_url_to_file", stacklevel=3)


def _download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Call ``download_url_to_file`` under its old name."""
    _no_longer("_download_url_to_file")
    download_url_to_file(url, dst, hash_prefix, progress)
