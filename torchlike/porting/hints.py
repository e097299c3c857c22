"""What to use instead of a PyTorch name that torchlike does not have."""

from __future__ import annotations

from collections.abc import Iterable

from torchlike._runtime.near_names import did_you_mean

#: The longest matching prefix wins. Only what a reader can act on today stands here.
INSTEAD = {
    "functorch": "torch.func has what functorch had",
    "functorch.dim": "torch.vmap maps over a dimension, torch.einsum names dimensions",
    "functorch.einops": "the package einops rearranges tensors here",
    "torch": (
        "where PyTorch has it, a function of jax.numpy, jax.scipy or jax.lax may do the same: "
        "t.jax() gives a tensor's array and torchlike.from_jax(array) a tensor"
    ),
    "torch._dynamo": "torchlike.jit compiles here: torchlike.jit.explain, or leave the line out",
    "torch._inductor": "XLA compiles here, there is no Inductor: leave the line out",
    "torch.ao": "torchao's quantize_ runs here, as does torch.ao.quantization.quantize_dynamic",
    "torch.quantization": "torchao's quantize_ runs here, as does quantize_dynamic",
    "torch.backends": "XLA chooses the kernels: leave the line out",
    "torch.cuda": "JAX manages the accelerator: see jax.devices() and jax.profiler",
    "torch.distributed": "jax.sharding spreads arrays over devices, and tensors carry arrays",
    "torch.fx": "jax.make_jaxpr shows the graph of a function of arrays",
    "torch.library": "torch.library.custom_op makes a function an operator",
    "torch.mps": "JAX manages the accelerator: see jax.devices()",
    "torch.onnx": "torchlike.export.save_stablehlo writes a program that other compilers take",
    "torch.profiler": "jax.profiler.trace records a profile",
    "torch.utils.cpp_extension": "jax.ffi calls native code, jax.experimental.pallas for kernels",
    "torch.xpu": "JAX manages the accelerator: see jax.devices()",
}


def instead(name: str) -> str:
    """Return the advice for ``name``, a dotted PyTorch name such as ``torch.fx.Graph``."""
    prefix = name
    while prefix not in INSTEAD:
        prefix, _, last = prefix.rpartition(".")
        if not last or not prefix:
            return INSTEAD["torch"]
    return INSTEAD[prefix]


def missing(name: str, names: Iterable[str] = ()) -> str:
    """Return the message for a name that torchlike lacks.

    Args:
      name: the dotted name, in PyTorch's spelling.
      names: what stands at that place. Where one of them is like the name, that was meant: PyTorch
        has no such name either, and advice on what to use instead would lead astray.
    """
    parent, _, last = name.rpartition(".")
    meant = did_you_mean(last, names)
    if meant:
        return f"module {parent!r} has no attribute {last!r}{meant}"
    return f"torchlike has no {name}; {instead(name)}"
