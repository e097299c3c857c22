"""Writes printing.json beside this file: what PyTorch 2.13 prints, for tests that run without it.

    python tests/golden/make_printing.py

Each case says how to make the values ("values" as a list, complex numbers as [real, imag] pairs; or
"arange" as [count, step]; then reshaped to "shape"), the dtype by PyTorch's name, and optionally
"options", "grad" (leaf or node), "device" and "parameter". The script adds "text", PyTorch's repr
as a list of lines.
"""

import json
import math
from pathlib import Path

import torch
from torch._tensor_str import printoptions

INF, NAN = math.inf, math.nan


def case(dtype: str, values: list | None = None, shape: list | None = None, **more) -> dict:
    described = {"dtype": dtype, "values": values, "shape": shape, **more}
    return {key: value for key, value in described.items() if value is not None}


CASES = [
    # numbers
    case("float32", [1.0, 2.0, 3.0]),
    case("float32", [1.5, -2.25, 300.0]),
    case("float32", [0.0, -0.0]),
    case("float32", [1.0, 1000.0]),
    case("float32", [1.0, 1001.0]),
    case("float32", [0.001, 0.5, -0.25]),
    case("float32", [0.00001, 0.00002]),
    case("float32", [1e8, 1.0e5 + 0.5]),
    case("float32", [123456792.0]),
    case("float32", [INF, -INF, NAN]),
    case("float32", [INF, 1.0, NAN]),
    case("float32", [-INF, 1.5, NAN, 0.0]),
    case("float32", [1e-45, 1.0, NAN]),
    case("float64", [5e-324, 1.7e308]),
    case("float64", [3.141592653589793], options={"precision": 10}),
    case("float32", [0.5, 1.5, 2.5], options={"precision": 0}),
    case("float32", [1.0, 2.0], options={"sci_mode": True}),
    case("float32", [1e-7, 2e5], options={"sci_mode": False}),
    case("float16", [1.0, 65504.0]),
    case("bfloat16", [0.5, -2.0, 3.140625]),
    case("float8_e4m3fn", [0.5, 448.0]),
    case("float8_e5m2", [0.25, -INF]),
    case("int64", [1, -20, 300]),
    case("int64", [-(2**63), 2**63 - 1]),
    case("uint8", [0, 255]),
    case("int32", [[1, 2], [-3, 4]]),
    case("uint16", [65535, 0]),
    case("uint64", [2**64 - 1, 0]),
    case("bool", [True, False]),
    case("bool", [True, True]),
    case("complex64", [[1.0, 2.0], [0.5, -3.0]]),
    case("complex64", [[1.0, 2.0], [3.0, -0.0]]),
    case("complex64", [[1e10, -2.5], [1.0, 0.0]]),
    case("complex128", [[INF, NAN], [-0.0, -INF], [1.5, 2.0]]),
    # no axes, no elements
    case("float32", [3.0], []),
    case("float32", [0.1], []),
    case("int64", [3], []),
    case("bool", [True], []),
    case("int32", [3], []),
    case("complex64", [[1.0, -2.0]], []),
    case("float32", [], [0]),
    case("float32", [], [0, 3]),
    case("int64", [], [2, 0]),
    case("bool", [], [0]),
    case("complex64", [], [0]),
    # brackets, lines, summaries
    case("int64", arange=[24, 1], shape=[2, 3, 4]),
    case("int64", arange=[16, 1], shape=[2, 2, 2, 2]),
    case("float32", arange=[40, 0.5], shape=[40]),
    case("float32", arange=[60, 1], shape=[2, 30]),
    case("int64", arange=[12, 1], shape=[12], options={"linewidth": 20}),
    case("complex64", arange=[12, 0.25], shape=[12]),
    case("float32", arange=[1000, 1], shape=[1000], options={"linewidth": 160}),
    case("float32", arange=[1001, 1], shape=[1001]),
    case("int64", arange=[10000, 1], shape=[100, 100]),
    case("int64", arange=[4000, 1], shape=[10, 20, 20]),
    case("float64", arange=[3000, 0.5], shape=[2, 1500]),
    case("complex64", arange=[2000, 1], shape=[2000]),
    case("int64", arange=[49, 1], shape=[7, 7], options={"threshold": 10, "edgeitems": 1}),
    case("int64", arange=[12, 1], shape=[3, 4], options={"threshold": 5, "edgeitems": 0}),
    case("float32", arange=[2000, 0.37], shape=[2000], options={"profile": "short"}),
    case("float32", arange=[1200, 1], shape=[1200], options={"profile": "full", "linewidth": 1000}),
    # suffixes
    case("float32", [1.0, 2.0], grad="leaf"),
    case("float32", [1.0, 2.0], grad="node"),
    case("float64", arange=[12, 1], shape=[12], grad="node"),
    case("float64", arange=[26, 1], shape=[2, 13], grad="leaf"),
    case("float64", arange=[7, 1], shape=[7], grad="node"),
    case("float64", [], [0, 2, 2, 40], grad="leaf", options={"linewidth": 20}),
    case("float32", arange=[6, 1], shape=[2, 3], device="meta"),
    case("int64", arange=[6, 1], shape=[6], device="meta"),
    case("float32", arange=[6, 1], shape=[6], device="meta", grad="node"),
    case("float32", arange=[6, 1], shape=[2, 3], grad="leaf", parameter=True),
    case("float32", arange=[40, 1], shape=[2, 20], grad="leaf", parameter=True),
]


def tensor_of(case: dict) -> torch.Tensor:
    dtype = getattr(torch, case["dtype"])
    if "arange" in case:
        count, step = case["arange"]
        values = (torch.arange(count, dtype=torch.float64) * step).to(dtype)
    elif dtype.is_complex:
        values = torch.tensor([complex(*pair) for pair in case["values"]], dtype=dtype)
    else:
        values = torch.tensor(case["values"], dtype=dtype)
    values = values.to(case.get("device", "cpu"))
    return values.reshape(case["shape"]) if "shape" in case else values


def text_of(case: dict) -> str:
    tensor = tensor_of(case)
    if case.get("parameter"):
        tensor = torch.nn.Parameter(tensor)
    elif "grad" in case:
        tensor.requires_grad_()
        tensor = tensor.clone() if case["grad"] == "node" else tensor
    with printoptions(**case.get("options", {})):
        return repr(tensor)


if __name__ == "__main__":
    rows = [json.dumps(case | {"text": text_of(case).split("\n")}) for case in CASES]
    path = Path(__file__).with_name("printing.json")
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    print(f"{len(rows)} cases from PyTorch {torch.__version__} in {path}")
