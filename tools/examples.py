"""``python -m tools.examples``: write examples of operations whose definition has none.

Each is a call with small arguments, chosen by the names of the parameters, and what it gives; the
first choice that works is taken. tests/test_docstring_examples.py runs them as it does all others.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torchlike
from tools.class_examples import class_examples
from torchlike._compat.help import signatures
from torchlike._compat.help.at_the_keyboard import operations
from torchlike._runtime.function_objects import first_of

FILE = Path(torchlike.__file__).parent / "_compat/help/examples.json"
#: An example has no more lines, and none of them is wider.
LINES, WIDTH = 6, 86

_VECTOR, _MATRIX = "torch.tensor([0.5, 1.0])", "torch.tensor([[4.0, 1.0], [2.0, 3.0]])"
_INTEGERS, _BOOLS = "torch.tensor([6, 4])", "torch.tensor([True, False])"
_COMPLEX = "torch.tensor([3 + 4j])"
_IMAGE = "torch.arange(16.0).reshape(1, 1, 4, 4)"
_SIGNAL, _VOLUME = "torch.arange(4.0).reshape(1, 1, 4)", "torch.arange(8.0).reshape(1, 1, 2, 2, 2)"
_BATCH = "torch.ones(1, 2, 2)"
#: What may stand for a first tensor.
_INPUTS = (
    *(_MATRIX, _VECTOR, _INTEGERS, _BOOLS, _COMPLEX, _IMAGE, _SIGNAL, _VOLUME, _BATCH),
    *("torch.tensor(2.0)", "torch.tensor([1.0, 2.0, 3.0])", "torch.zeros(1, 4, 2, 2)"),
    "torch.tensor([0, 1, 1])",
)
#: What may stand for other parameters, by their names.
_BY_NAME: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("other", "mat2", "vec2", "B", "input2", "y", "tensor2", "end", "exponent", "x2", "target"),
        (_MATRIX, _VECTOR, "2", _INTEGERS, _BOOLS, "torch.tensor([1, 0])"),
    ),
    **dict.fromkeys(("mat1", "vec", "vec1", "tensor1", "A", "x", "mat"), (_MATRIX, _VECTOR)),
    **dict.fromkeys(("batch1", "batch2"), (_BATCH,)),
    **dict.fromkeys(("tensors", "operands", "matrices"), (f"[{_MATRIX}, {_MATRIX}]",)),
    **dict.fromkeys(("dim", "dim0", "axis", "dims"), ("0", "(0,)")),
    **dict.fromkeys(("dim1", "dim2"), ("1",)),
    **dict.fromkeys(("index", "indices"), ("torch.tensor([1, 0])", "torch.tensor([[1, 0]])")),
    **dict.fromkeys(("source", "src", "values"), (_MATRIX, _VECTOR, "torch.ones(1, 2)")),
    **dict.fromkeys(("size", "shape", "sizes", "output_size"), ("(2, 2)", "2", "(2,)", "(1, 2)")),
    **dict.fromkeys(("kernel_size", "scale_factor", "upscale_factor", "downscale_factor"), ("2",)),
    **dict.fromkeys(("value", "fill_value", "margin", "p", "diagonal", "n", "k", "r"), ("2", "1")),
    **dict.fromkeys(("weight", "bias"), ("torch.ones(2, 2)", "torch.ones(1, 1, 2, 2)", "0.5")),
    **dict.fromkeys(("chunks", "sections", "indices_or_sections", "groups"), ("2",)),
    **dict.fromkeys(("mask", "condition"), ("torch.tensor([True, False])",)),
    **dict.fromkeys(("normalized_shape", "num_groups", "num_classes"), ("(2,)", "1", "3")),
    **dict.fromkeys(("boundaries", "sorted_sequence"), ("torch.tensor([1.0, 3.0])",)),
    **dict.fromkeys(("min", "start", "lower"), ("1",)),
    **dict.fromkeys(("max", "end_dim"), ("3",)),
    **dict.fromkeys(("repeats", "shifts", "steps", "num_samples", "length", "offset"), ("2", "1")),
    **dict.fromkeys(("split_sizes",), ("[1, 1]",)),
    "dtype": ("torch.int64",),
    "q": ("0.5",),
    "window_length": ("4",),
    "s": ("(2, 2)",),
    "pad": ("(1, 1)",),
    "ord": ("2",),
}
_ROWS = "torch.ones(2, 3)"
_LABELS = "torch.tensor([1, 0])"
_FACTORS = "torch.tensor([[2.0, 0.0], [0.0, 4.0]])"
#: Arguments that names alone do not tell.
_CALLS = {
    **dict.fromkeys(("movedim", "moveaxis"), "torch.ones(2, 3, 4), 0, 2"),
    **dict.fromkeys(("select", "select_copy"), f"{_MATRIX}, 0, 1"),
    **dict.fromkeys(("split_with_sizes", "split_with_sizes_copy"), f"{_MATRIX}, [1, 1]"),
    **dict.fromkeys(("as_strided", "as_strided_copy"), "torch.arange(4), (2, 2), (1, 2)"),
    **dict.fromkeys(("full_like", "fill"), f"{_VECTOR}, 3.0"),
    **dict.fromkeys(("bmm",), f"{_BATCH}, {_BATCH}"),
    **dict.fromkeys(("addmm",), f"{_MATRIX}, {_MATRIX}, {_FACTORS}"),
    **dict.fromkeys(("addmv",), f"{_VECTOR}, {_MATRIX}, {_VECTOR}"),
    **dict.fromkeys(("addr",), f"{_MATRIX}, {_VECTOR}, {_VECTOR}"),
    **dict.fromkeys(("baddbmm",), f"{_BATCH}, {_BATCH}, {_BATCH}"),
    **dict.fromkeys(("addbmm",), f"{_MATRIX}, {_BATCH}, {_BATCH}"),
    **dict.fromkeys(("addcmul", "addcdiv"), f"{_VECTOR}, {_VECTOR}, {_VECTOR}, value=2"),
    "lerp": f"{_VECTOR}, torch.tensor([2.0, 3.0]), 0.5",
    "bilinear": "torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3)",
    "tensordot": f"{_MATRIX}, {_MATRIX}, dims=1",
    **dict.fromkeys(("chain_matmul",), f"{_MATRIX}, {_MATRIX}"),
    "multi_dot": f"[{_MATRIX}, {_MATRIX}]",
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d", "block_diag"), "torch.tensor(2.0)"),
    **dict.fromkeys(
        ("hstack", "vstack", "row_stack", "dstack", "column_stack"), f"[{_VECTOR}, {_VECTOR}]"
    ),
    "broadcast_tensors": f"{_VECTOR}, torch.tensor([[1.0], [2.0]])",
    "cartesian_prod": "torch.tensor([1, 2]), torch.tensor([3, 4])",
    **dict.fromkeys(("index_put",), f"{_VECTOR}, (torch.tensor([1]),), torch.tensor([9.0])"),
    "prelu": "torch.tensor([-2.0, 1.0]), torch.tensor([0.25])",
    **dict.fromkeys(("threshold",), "torch.tensor([-2.0, 1.0]), 0.0, 5.0"),
    **dict.fromkeys(
        (
            "relu6",
            "leaky_relu",
            "elu",
            "selu",
            "celu",
            "silu",
            "mish",
            "hardsigmoid",
            "hardswish",
            "hardtanh",
            "softmin",
            "rrelu",
        ),
        "torch.tensor([-2.0, 1.0])",
    ),
    "cosine_similarity": f"{_MATRIX}, {_MATRIX}",
    **dict.fromkeys(("conv1d", "conv_transpose1d"), f"{_SIGNAL}, torch.ones(1, 1, 2)"),
    **dict.fromkeys(("conv3d", "conv_transpose3d"), f"{_VOLUME}, torch.ones(1, 1, 2, 2, 2)"),
    "batch_norm": f"{_MATRIX}, None, None, training=True",
    "instance_norm": f"{_SIGNAL}",
    "embedding_bag": "torch.tensor([[0, 1]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])",
    **dict.fromkeys(
        ("margin_ranking_loss", "hinge_embedding_loss"),
        f"{_VECTOR}, torch.tensor([1.0, 1.0]), torch.tensor([1.0, -1.0])",
    ),
    "cosine_embedding_loss": f"{_MATRIX}, {_MATRIX}, torch.tensor([1, -1])",
    "triplet_margin_loss": f"{_MATRIX}, {_MATRIX}, {_FACTORS}",
    "triplet_margin_with_distance_loss": f"{_MATRIX}, {_MATRIX}, {_FACTORS}",
    **dict.fromkeys(("kl_div",), "torch.tensor([[-0.7, -0.7]]), torch.tensor([[0.4, 0.6]])"),
    **dict.fromkeys(
        ("binary_cross_entropy_with_logits", "poisson_nll_loss"),
        f"{_VECTOR}, torch.tensor([1.0, 0.0])",
    ),
    "binary_cross_entropy": "torch.tensor([0.2, 0.8]), torch.tensor([0.0, 1.0])",
    "nll_loss": f"torch.log_softmax({_MATRIX}, 1), {_LABELS}",
    "multi_margin_loss": f"{_MATRIX}, {_LABELS}",
    "multilabel_margin_loss": f"{_MATRIX}, torch.tensor([[1, -1], [0, -1]])",
    "multilabel_soft_margin_loss": f"{_MATRIX}, torch.tensor([[1.0, 0.0], [0.0, 1.0]])",
    "linear_cross_entropy": f"{_MATRIX}, torch.ones(3, 2), {_LABELS}",
    "affine_grid": "torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 2, 2)",
    "affine_grid_generator": "torch.ones(1, 2, 3), (1, 1, 2, 2), True",
    "grid_sample": f"{_IMAGE}, torch.zeros(1, 1, 1, 2), align_corners=True",
    **dict.fromkeys(
        ("grid_sampler", "grid_sampler_2d"), f"{_IMAGE}, torch.zeros(1, 1, 1, 2), 0, 0, True"
    ),
    "grid_sampler_3d": f"{_VOLUME}, torch.zeros(1, 1, 1, 1, 3), 0, 0, True",
    "upsample": f"{_MATRIX}[None, None], scale_factor=2",
    "fold": "torch.ones(1, 4, 4), (3, 3), 2",
    "max_unpool2d": "torch.tensor([[[[5.0]]]]), torch.tensor([[[[3]]]]), 2",
    "ctc_loss": "torch.zeros(4, 1, 3).log_softmax(2), torch.tensor([[1, 2]]), (4,), (2,)",
    **dict.fromkeys(("masked_scatter",), f"{_VECTOR}, {_BOOLS}, torch.tensor([9.0])"),
    "scatter": "torch.zeros(1, 3), 1, torch.tensor([[2]]), 5.0",
    "scatter_reduce": "torch.ones(1, 3), 1, torch.tensor([[2]]), torch.tensor([[5.0]]), 'sum'",
    "scatter_add": "torch.ones(1, 3), 1, torch.tensor([[2]]), torch.tensor([[5.0]])",
    **dict.fromkeys(
        ("index_add", "index_copy"), "torch.ones(3), 0, torch.tensor([2]), torch.tensor([5.0])"
    ),
    "index_fill": "torch.ones(3), 0, torch.tensor([2]), 5.0",
    "index_reduce": "torch.ones(3), 0, torch.tensor([2]), torch.tensor([5.0]), 'prod'",
    "put": "torch.ones(3), torch.tensor([2]), torch.tensor([5.0])",
    "tile": f"{_VECTOR}, (2,)",
    "diagonal_scatter": "torch.zeros(2, 2), torch.ones(2)",
    "select_scatter": "torch.zeros(2, 2), torch.ones(2), 0, 1",
    "searchsorted": "torch.tensor([1.0, 3.0]), torch.tensor([2.0, 4.0])",
    "isin": "torch.tensor([1, 2, 3]), torch.tensor([2, 3])",
    "can_cast": "torch.float64, torch.int64",
    "cdist": f"{_MATRIX}, {_FACTORS}",
    "cross": "torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0])",
    "lu_unpack": f"*torch.linalg.lu_factor({_MATRIX})",
    "lu_solve": f"{_MATRIX}, *torch.linalg.lu_factor({_FACTORS})",
    "linalg.lu_solve": f"*torch.linalg.lu_factor({_FACTORS}), {_MATRIX}",
    "linalg.solve": f"{_FACTORS}, {_MATRIX}",
    "linalg.solve_triangular": f"{_FACTORS}, {_MATRIX}, upper=True",
    "linalg.tensorsolve": f"{_FACTORS}, {_VECTOR}",
    "linalg.ldl_solve": f"*torch.linalg.ldl_factor({_FACTORS}), {_MATRIX}",
    "triangular_solve": f"{_MATRIX}, {_FACTORS}",
    "renorm": f"{_MATRIX}, 2, 0, 1.0",
    "stft": "torch.ones(8), 4, window=torch.ones(4), return_complex=True",
    "normal": "torch.zeros(2), torch.ones(2)",
    "randint_like": f"{_VECTOR}, 10",
    **dict.fromkeys(
        ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"),
        "torch.ones(2, 4), 0.5, True",
    ),
    **dict.fromkeys(
        (
            "diagonal_copy",
            "alias_copy",
            "detach_copy",
            "t_copy",
            "squeeze_copy",
            "unbind_copy",
            "view_as_complex_copy",
            "slice_copy",
        ),
        _MATRIX,
    ),
    "view_as_real_copy": _COMPLEX,
    "expand_copy": f"{_VECTOR}, (2, 2)",
    "view_copy": f"{_MATRIX}, (4,)",
    "narrow_copy": f"{_VECTOR}, 0, 1, 1",
    "permute_copy": f"{_ROWS}, (1, 0)",
    "split_copy": f"{_VECTOR}, 1",
    "transpose_copy": f"{_MATRIX}, 0, 1",
    "unfold_copy": "torch.arange(4), 0, 2, 2",
    "unsqueeze_copy": f"{_VECTOR}, 0",
    "nonzero_static": "torch.tensor([0.0, 2.0]), size=1",
    "histogram": f"{_VECTOR}, bins=2, range=(0.0, 2.0)",
    "cond": f"True, torch.sin, torch.cos, ({_VECTOR},)",
    "while_loop": "lambda i: i < 3, lambda i: i + 1, (torch.tensor(0),)",
    "sparse_coo_tensor": "torch.tensor([[0, 1]]), torch.tensor([1.0, 2.0])",
    "sparse_csr_tensor": "[0, 1, 2], [0, 1], [1.0, 2.0]",
    "sparse_csc_tensor": "[0, 1, 2], [0, 1], [1.0, 2.0]",
    "sparse_compressed_tensor": "[0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.sparse_csr",
    "range": "1, 4",
    "frombuffer": "b'\\x01\\x02', dtype=torch.uint8",
    "from_dlpack": f"{_VECTOR}",
    "ldexp": f"{_VECTOR}, torch.tensor([1, 2])",
    "hsplit": f"{_MATRIX}, 2",
    "randperm": "4",
    "lstm_cell": "torch.ones(1, 2), (torch.zeros(1, 1), torch.zeros(1, 1)), "
    "torch.ones(4, 2), torch.ones(4, 1)",
    "gru_cell": "torch.ones(1, 2), torch.zeros(1, 1), torch.ones(3, 2), torch.ones(3, 1)",
    **dict.fromkeys(
        ("rnn_tanh_cell", "rnn_relu_cell"),
        "torch.ones(1, 2), torch.zeros(1, 1), torch.ones(1, 2), torch.ones(1, 1)",
    ),
    "convolution": f"{_SIGNAL}, torch.ones(1, 1, 2), None, (1,), (0,), (1,), False, (0,), 1",
    "fake_quantize_per_channel_affine": f"{_MATRIX}, torch.ones(2), "
    "torch.zeros(2, dtype=torch.int32), 0, 0, 3",
    "as_strided_scatter": "torch.zeros(3), torch.ones(2), (2,), (1,)",
    "empty_permuted": "(2, 3), (1, 0)",
    "native_layer_norm": f"{_MATRIX}, (2,), None, None, 1e-5",
    "segment_reduce": "torch.tensor([1.0, 2.0, 3.0]), 'sum', lengths=torch.tensor([2, 1])",
    "conv_tbc": "torch.ones(3, 1, 2), torch.ones(2, 2, 1), torch.zeros(1)",
    **dict.fromkeys(
        ("fractional_max_pool2d", "fractional_max_pool2d_with_indices"),
        f"{_IMAGE}, 2, output_size=(1, 1)",
    ),
    **dict.fromkeys(
        ("fractional_max_pool3d", "fractional_max_pool3d_with_indices"),
        "torch.arange(27.0).reshape(1, 1, 3, 3, 3), 2, output_size=(1, 1, 1)",
    ),
    "adaptive_max_pool3d_with_indices": f"{_VOLUME}, 1",
    "upsample_nearest": f"{_MATRIX}[None, None], scale_factor=2",
    "upsample_bilinear": f"{_MATRIX}[None, None], scale_factor=2",
    "householder_product": f"{_MATRIX}, {_VECTOR}",
    "ormqr": f"{_MATRIX}, {_VECTOR}, {_MATRIX}",
    **dict.fromkeys(("hspmm", "smm"), f"{_MATRIX}.to_sparse(), {_MATRIX}"),
    "linalg.solve_ex": f"{_FACTORS}, {_MATRIX}",
    "sparse_bsr_tensor": "[0, 1], [0], [[[1.0, 2.0]]]",
    "sparse_bsc_tensor": "[0, 1], [0], [[[1.0], [2.0]]]",
    "rfftfreq": "4",
    "fftfreq": "4",
}


def _candidates(function: Any) -> Iterator[tuple[str, ...]]:
    """Yield argument lists as text, the likeliest first."""
    known = signatures.of(function).parameters
    needed = [p for p in known if p.default is None and not p.prefix and not p.keyword_only]
    if any(p.prefix == "*" for p in known) and not needed:
        needed = [p for p in known if p.prefix == "*"]
    choices = []
    for i, p in enumerate(needed):
        first = i == 0 and p.name in ("input", "self", "A", "x", "mat")
        options = _INPUTS if first else _BY_NAME.get(p.name)
        if options is None:
            options = (_MATRIX, _VECTOR) if "Tensor" in p.type else ("1", "2")
        choices.append(options)
    yield from itertools.islice(itertools.product(*choices), 400)


def _calls(place: str, function: Any) -> Iterator[str]:
    """Yield calls as text: those of `_CALLS`, or with candidates; in place as a method."""
    name = place.rpartition(".")[2]
    known = _CALLS.get(place) or _CALLS.get(name)
    if known is not None:
        yield f"torch.{place}({known})"
        return
    of_op = _CALLS.get(name.rstrip("_"))
    as_method = name.endswith("_") and place == name
    if name.endswith("_") and of_op is not None:
        if not as_method:
            yield f"torch.{place}({of_op})"
            return
        tree = ast.parse(f"f({of_op})", mode="eval").body
        assert isinstance(tree, ast.Call)
        first, *rest = (ast.unparse(node) for node in (*tree.args, *tree.keywords))
        yield f"{first}.{name}({', '.join(rest)})"
        return
    for arguments in _candidates(function):
        if as_method:
            yield f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
        else:
            yield f"torch.{place}({', '.join(arguments)})"


def _value(source: str) -> Any:
    torchlike.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return eval(source, {"torch": torchlike})


def _example(call: str) -> str | None:
    """Return the call and what it gives as an example; None where that is no good one."""
    seeded, value = "", _value(call)
    if value is None or inspect.isgenerator(value):
        return None
    shown = repr(value)
    if repr(eval(call, {"torch": torchlike})) != shown:
        seeded = ">>> _ = torch.manual_seed(0)\n"
    lines = shown.splitlines()
    if len(lines) > LINES or max(map(len, lines)) > WIDTH or not all(lines):
        if not isinstance(value, torchlike.Tensor):
            return None
        call, lines = f"{call}.shape", [repr(value.shape)]
    if " at 0x" in shown or "nan" in shown or "inf," in shown:
        return None
    statements = [call] if len(call) + 4 <= WIDTH else _taken_apart(call)
    if max(map(len, statements)) + 4 > WIDTH:
        return None
    return seeded + "".join(f">>> {line}\n" for line in statements) + "\n".join(lines)


def _taken_apart(call: str) -> list[str]:
    """Give long arguments names of their own, in lines before the call."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    lines: list[str] = []
    for i, node in enumerate(tree.args):
        source = ast.unparse(node)
        if isinstance(node, ast.Call) and len(source) > 15:
            name = "abcdefgh"[len(lines)]
            lines.append(f"{name} = {source}")
            tree.args[i] = ast.Name(name)
    return [*lines, ast.unparse(tree)]


def _described(function: Any) -> bool:
    """Return whether its definition has an example, or it is refused."""
    doc = signatures.of(function).doc
    return ">>> " in doc or doc.startswith("Not supported")


def examples() -> dict[str, str]:
    """Return the examples by the place of the operation."""
    made: dict[str, str] = {}
    for space, name, function in operations():
        place = f"{space}.{name}" if space else name
        if space == "aten" or name.startswith("_") or _described(function):
            continue
        if first_of(function).__name__ in made:
            continue
        for call in _calls(place, function):
            try:
                found = _example(call)
            except Exception:  # these arguments do not fit, in one of many ways
                continue
            if found is not None:
                made[place] = found
                break
    return made


def main() -> int:
    """Write the file."""
    FILE.write_text(
        json.dumps(dict(sorted((examples() | class_examples()).items())), indent=0) + "\n", "utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
