"""What would compile C++ or CUDA says at once what to use, and starts nothing."""

import subprocess

import pytest

from torchlike.utils import cpp_extension

CALLS = {
    "load": lambda: cpp_extension.load("mine", ["mine.cpp"]),
    "load_inline": lambda: cpp_extension.load_inline("mine", "int f();", functions=["f"]),
    "CppExtension": lambda: cpp_extension.CppExtension("mine", ["mine.cpp"]),
    "CUDAExtension": lambda: cpp_extension.CUDAExtension("mine", ["mine.cu"]),
    "SyclExtension": lambda: cpp_extension.SyclExtension("mine", ["mine.sycl"]),
    "BuildExtension": lambda: cpp_extension.BuildExtension(None),
    "BuildExtension.with_options": lambda: cpp_extension.BuildExtension.with_options(),
    "include_paths": lambda: cpp_extension.include_paths("cuda"),
    "library_paths": lambda: cpp_extension.library_paths(),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_says_what_to_use(name, monkeypatch, tmp_path):
    def start(*args, **kwargs):
        raise AssertionError("nothing is to be started")

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.chdir(tmp_path)
    words = rf"torch\.utils\.cpp_extension\.{name}: .*from_jax_function: with jax\.ffi for C\+\+"
    with pytest.raises(NotImplementedError, match=words):
        CALLS[name]()
    assert not list(tmp_path.iterdir())


def test_a_build_of_ones_own_is_refused_when_it_is_made():
    class Build(cpp_extension.BuildExtension):
        """What ``setup.py`` gives as ``cmdclass``."""

    with pytest.raises(NotImplementedError, match=r"jax\.ffi"):
        Build(None)


def test_ninja_that_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert not cpp_extension.is_ninja_available()
    with pytest.raises(RuntimeError, match="Ninja is required to load C"):
        cpp_extension.verify_ninja_availability()
