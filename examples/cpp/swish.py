"""A kernel in C++, with its gradient, as an operation: compiled here, called through XLA's FFI.

What ``torch.utils.cpp_extension.load`` is for. The source is compiled once into a shared library;
JAX calls the two functions in it, in eager code and within compiled programs alike.

    python examples/cpp/swish.py
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

import torchlike as torch

SOURCE = r"""
#include <cmath>
#include <cstdint>
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using Array = ffi::Buffer<ffi::F32>;
using Result = ffi::ResultBuffer<ffi::F32>;

static ffi::Error Swish(Array x, Result y) {
  for (int64_t i = 0; i < (int64_t)x.element_count(); ++i) {
    float v = x.typed_data()[i];
    y->typed_data()[i] = v / (1.0f + std::exp(-v));
  }
  return ffi::Error::Success();
}

static ffi::Error SwishGradient(Array x, Array g, Result out) {
  for (int64_t i = 0; i < (int64_t)x.element_count(); ++i) {
    float v = x.typed_data()[i];
    float s = 1.0f / (1.0f + std::exp(-v));
    out->typed_data()[i] = g.typed_data()[i] * (s + v * s * (1.0f - s));
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(swish, Swish,
                              ffi::Ffi::Bind().Arg<Array>().Ret<Array>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swish_gradient, SwishGradient,
                              ffi::Ffi::Bind().Arg<Array>().Arg<Array>().Ret<Array>());
"""


def compiled(folder):
    """Compile the source into a shared library in the folder, and load it."""
    source, library = Path(folder, "swish.cc"), Path(folder, "swish.so")
    source.write_text(SOURCE)
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise SystemExit("no C++ compiler was found")
    options = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", f"-I{jax.ffi.include_dir()}"]
    subprocess.run([compiler, *options, str(source), "-o", str(library)], check=True)
    return ctypes.cdll.LoadLibrary(str(library))


def operation(library):
    """Make an operation on tensors of the library's functions, with a gradient."""
    for name in ("swish", "swish_gradient"):
        handler = jax.ffi.pycapsule(getattr(library, name))
        jax.ffi.register_ffi_target(name, handler, platform="cpu")

    def call(name, *arrays):
        shape = jax.ShapeDtypeStruct(arrays[0].shape, jnp.float32)
        return jax.ffi.ffi_call(name, shape, vmap_method="broadcast_all")(*arrays)

    @jax.custom_vjp
    def swish(x):
        return call("swish", x)

    swish.defvjp(lambda x: (swish(x), x), lambda x, g: (call("swish_gradient", x, g),))
    return torch.from_jax_function(swish)


def main():
    with tempfile.TemporaryDirectory() as folder:
        swish = operation(compiled(folder))
        x = torch.linspace(-3, 3, 7, requires_grad=True)
        swish(x).sum().backward()
        torch.testing.assert_close(swish(x), torch.nn.functional.silu(x))
        print("eager:   ", x.grad)

        @torch.jit
        def step(x):
            x.grad = None
            loss = swish(x).sum()
            loss.backward()
            return loss

        loss = step(x)
        print("compiled:", x.grad)

        y = x.detach().requires_grad_()
        torch.nn.functional.silu(y).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
        print("loss:    ", round(loss.item(), 4))


if __name__ == "__main__":
    main()
