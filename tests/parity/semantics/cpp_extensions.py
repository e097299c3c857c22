"""Extensions in C++ and CUDA: what scripts ask before they compile, and what they compile with."""

from __future__ import annotations

import importlib
import os
import tempfile
from typing import Any

import torch.utils.cpp_extension  # noqa: F401 - it changes sys.path: before a test looks at that


def _place(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.utils.cpp_extension")


def _of(call: Any) -> Any:
    """A behaviour that calls ``call(t, torch.utils.cpp_extension)``."""

    def behaviour(t: Any) -> Any:
        return call(t, _place(t))

    behaviour.__module__ = __name__
    return behaviour


def homes_of_compilers(t: Any) -> Any:
    return [getattr(_place(t), n) for n in ("CUDA_HOME", "ROCM_HOME", "CUDNN_HOME")]


def a_class_of_builds_of_ones_own(t: Any) -> Any:
    class Build(_place(t).BuildExtension):
        def build_extensions(self) -> None:
            raise AssertionError("is not called")

    return issubclass(Build, _place(t).BuildExtension), Build.__name__


def an_extension_asked_for_its_kind(t: Any) -> Any:
    return isinstance(3, _place(t).BuildExtension)


def a_folder_of_builds(t: Any) -> Any:
    root = _place(t).get_default_build_root()
    return os.path.isabs(root), "torch_extensions" in os.path.basename(root)


def the_folder_of_builds_of_the_environment(t: Any) -> Any:
    before = os.environ.get("TORCH_EXTENSIONS_DIR")
    return before, _place(t).get_default_build_root() == os.path.realpath(
        _place(t).get_default_build_root()
    )


def a_library_that_is_not_there(t: Any) -> Any:
    return t.ops.load_library("/nowhere/libnothing.so")


def classes_of_a_library_that_is_not_there(t: Any) -> Any:
    return t.classes.load_library("/nowhere/libnothing.so")


def a_library_that_is_none(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "libtext.so")
        with open(path, "w") as file:
            file.write("text")
        try:
            t.ops.load_library(path)
        except OSError as error:
            return type(error).__name__


def libraries_that_were_loaded(t: Any) -> Any:
    return {path for path in t.ops.loaded_libraries if not path.startswith("/anywhere")}


def names_that_scripts_import(t: Any) -> Any:
    names = """
    load load_inline CppExtension CUDAExtension SyclExtension BuildExtension include_paths
    library_paths CUDA_HOME ROCM_HOME CUDNN_HOME IS_HIP_EXTENSION is_ninja_available
    verify_ninja_availability get_default_build_root get_cxx_compiler
    check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version
    """
    return [n for n in names.split() if not hasattr(_place(t), n)]


_TABLE = {
    "whether_this_is_for_amd": _of(lambda t, place: place.IS_HIP_EXTENSION),
    "whether_ninja_is_there": _of(lambda t, place: place.is_ninja_available()),
    "that_ninja_must_be_there": _of(lambda t, place: place.verify_ninja_availability()),
    "the_compiler": _of(lambda t, place: place.get_cxx_compiler()),
    "the_compiler_of_another_platform": _of(
        lambda t, place: place.check_compiler_ok_for_platform("nothing++")
    ),
    "a_source_that_is_not_there": _of(lambda t, place: place.load("none", ["/nowhere/none.cpp"])),
    "a_source_in_cuda": _of(
        lambda t, place: place.load_inline("none", cpp_sources="", cuda_sources="int f();")
    ),
    "an_extension_in_cuda": _of(lambda t, place: place.CUDAExtension("none", ["none.cu"])),
    "options_of_builds": _of(
        lambda t, place: isinstance(place.BuildExtension.with_options(use_ninja=False), type)
    ),
    "an_extension_in_cpp": _of(lambda t, place: place.CppExtension("none", ["none.cpp"]).name),
    "where_headers_are": _of(lambda t, place: len(place.include_paths()) > 0),
}
globals().update(_TABLE)
