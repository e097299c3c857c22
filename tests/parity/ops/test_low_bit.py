"""Products with matrices of few bits, and what libraries of quantization ask for, against PyTorch:
computed by NumPy, compiled and jitted."""

import pytest
from oracle import compare, outcome, source

import torchlike

torch = pytest.importorskip("torch")

_FLOATS = "t.linspace(-3, 3, 128).reshape(4, 32)"
_F8 = f"({_FLOATS}).to(t.float8_e4m3fn)"
_B8 = "t.linspace(2, -1, 16 * 32).reshape(16, 32).to(t.float8_e4m3fn).t()"
_ONE = "t.tensor(0.5)"
_W8 = "(t.arange(16 * 32) % 255 - 127).reshape(16, 32).to(t.int8)"


def _levels(rows):
    return f"((t.arange({rows} * 64) * 7 % 16).reshape({rows}, 64).int())"


def _int4(rows, dtype="t.float32", group=32):
    sizes = f"64 // {group}, {rows}, 2"
    return (
        f"t._weight_int4pack_mm_for_cpu(t.linspace(-1, 1, 256).reshape(4, 64).to({dtype}), "
        f"t._convert_weight_to_int4pack_for_cpu({_levels(rows)}, 1), {group}, "
        f"t.linspace(0, 1, 64 // {group} * {rows} * 2).reshape({sizes}).to({dtype}))"
    )


VALUES = [
    *(
        f"t._scaled_mm({_F8}, {_B8}, {_ONE}, {_ONE}, out_dtype={d}).float()"
        for d in ("None", "t.float32", "t.bfloat16", "t.float16", "t.float8_e4m3fn")
    ),
    f"t._scaled_mm({_F8}, {_B8}, t.linspace(1, 2, 4)[:, None], t.linspace(0, 1, 16)[None], "
    "out_dtype=t.float32)",
    f"t._scaled_mm({_F8}, {_B8}, {_ONE}, {_ONE}, bias=t.arange(16.), out_dtype=t.float32)",
    *(
        f"t._scaled_mm({_F8}, {_B8}, {_ONE}, {_ONE}, None, t.tensor(2.), {d}).float()"
        for d in ("None", "t.float32", "t.float8_e4m3fn")
    ),
    f"t._scaled_mm({_F8}.to(t.float8_e5m2), {_B8}, {_ONE}, {_ONE}, out_dtype=t.float32)",
    f"t.nn.functional.scaled_mm({_F8}, {_B8}, {_ONE}, t.nn.functional.ScalingType.TensorWise, "
    f"{_ONE}, t.nn.functional.ScalingType.TensorWise)",
    f"t.nn.functional.scaled_mm({_F8}, {_B8}, t.linspace(1, 2, 4)[:, None], "
    "t.nn.functional.ScalingType.RowWise, t.linspace(0, 1, 16)[None], "
    "t.nn.functional.ScalingType.RowWise, output_dtype=t.float32)",
    *(
        f"t._weight_int8pack_mm({_FLOATS}.to({d}), {_W8}, t.linspace(0, 1, 16).to({d}))"
        for d in ("t.float32", "t.bfloat16", "t.float16")
    ),
    *(_int4(rows) for rows in (16, 32, 48, 64, 80, 96, 128)),
    _int4(64, "t.bfloat16"),
    _int4(64, "t.float16"),
    _int4(32, group=64),
    f"t._convert_weight_to_int4pack_for_cpu({_levels(32)}, 8).shape",
]

REFUSED = [
    f"t._scaled_mm({_F8}, {_B8}[:16], {_ONE}, {_ONE})",
    f"t._scaled_mm({_F8}[0], {_B8}, {_ONE}, {_ONE})",
    f"t._scaled_mm({_F8}, {_B8}, {_ONE}, {_ONE}, bias=t.ones(15))",
    f"t._weight_int8pack_mm({_FLOATS}, {_W8}, t.ones(15))",
    f"t._weight_int8pack_mm({_FLOATS}[:, :31], {_W8}, t.ones(16))",
    f"t._weight_int8pack_mm({_FLOATS}, {_W8}.int(), t.ones(16))",
    f"t._weight_int8pack_mm({_FLOATS}.double(), {_W8}, t.ones(16))",
    f"t._weight_int8pack_mm({_FLOATS}[None], {_W8}, t.ones(16))",
    f"t._weight_int8pack_mm({_FLOATS}, {_W8}, t.ones(16).double())",
    f"t._weight_int8pack_mm({_FLOATS}.requires_grad_(), {_W8}, t.ones(16)).sum().backward()",
    f"t._convert_weight_to_int4pack_for_cpu({_levels(15)}, 1)",
    f"t._convert_weight_to_int4pack_for_cpu({_levels(16)}[:, :31], 1)",
    f"t._convert_weight_to_int4pack_for_cpu({_levels(16)}.to(t.uint8), 1)",
    f"t._convert_weight_to_int4pack_for_cpu({_levels(16)}[None], 1)",
    _int4(32).replace(", 32, t.linspace", ", 16, t.linspace"),
    _int4(32).replace("64 // 32, 32, 2)", "2, 16, 4)"),
    _int4(32).replace("reshape(4, 64)", "reshape(2, 2, 64)"),
]


@pytest.mark.sampled(every=4, of=lambda p: p["jitted"])
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("line", VALUES)
def test_products_are_pytorchs(line, jitted):
    compare(source(line), jitted=jitted)


#: On processors with AMX PyTorch's _scaled_mm goes to oneDNN, which takes more and says less.
_BY_ONEDNN = torch.cpu._is_amx_tile_supported()


@pytest.mark.parametrize("line", REFUSED)
def test_words_of_refusals_are_pytorchs(line):
    if "_scaled_mm" in line and _BY_ONEDNN:
        pytest.skip("PyTorch's _scaled_mm is oneDNN's on this processor")
    compare(source(line), exact=True)


@pytest.mark.skipif(_BY_ONEDNN, reason="PyTorch's _scaled_mm is oneDNN's on this processor")
@pytest.mark.parametrize(
    "line",
    [
        f"t._scaled_mm({_F8}.float(), {_B8}.float(), {_ONE}, {_ONE})",
        f"t._scaled_mm({_F8}, {_B8}, {_ONE}.double(), {_ONE})",
        f"t._scaled_mm({_F8}, {_B8}, t.ones(3, 1), t.ones(1, 16))",
    ],
)
def test_scales_that_do_not_fit_are_refused(line):
    ours, theirs = (outcome(source(line), t) for t in (torchlike, torch))
    assert ours.type == theirs.type == "ValueError"
    # PyTorch tells of the matrices' strides too, which are known to nobody once a program is traced
    assert ours.words.partition("\nGot")[0] == theirs.words.partition("\nGot")[0]


LIBRARY = [
    f"t._higher_order_ops.out_dtype(t.ops.aten.mm.default, t.int32, {_W8}, {_W8}.t())",
    "t._higher_order_ops.out_dtype(t.ops.aten.mul.Tensor, t.float64, "
    "t.ones(2, dtype=t.int8), t.ones(2, dtype=t.int8))",
    "t._prims_common.suggest_memory_format(t.ones(2, 3, 4, 5)) is t.contiguous_format",
    "t._prims_common.suggest_memory_format(t.ones(2, 3, 4, 5).to("
    "memory_format=t.channels_last)) is t.channels_last",
    "t._prims_common.make_contiguous_strides_for((2, 3, 4))",
    "t._prims_common.make_contiguous_strides_for((2, 3, 4), row_major=False)",
    "t._prims_common.make_contiguous_strides_for((2, 0, 4), row_major=False)",
    "t._has_compatible_shallow_copy_type(t.ones(2), t.ones(3).int())",
    "t._has_compatible_shallow_copy_type(t.ones(2), t.ones(3).to_sparse())",
    "t._has_compatible_shallow_copy_type(t.ones(2), t.ones(3, device='meta'))",
    "t.utils._pytree.arg_tree_leaves(1, [2, 3], x={'a': 4})",
    "t.utils._triton.has_triton()",
    "[(s.name, int(s)) for s in map(t.nn.functional.ScalingType, range(6))]",
]


@pytest.mark.parametrize("line", LIBRARY)
def test_what_libraries_of_quantization_ask_for(line):
    __import__("torch.utils._triton")
    __import__("torchlike.utils._triton")
    compare(source(line), exact=True)


def test_a_registered_constant_is_part_of_a_structure():
    def run(t):
        class Setting:
            def __init__(self, n):
                self.n = n

            def __eq__(self, other):
                return self.n == other.n

            def __hash__(self):
                return self.n

        tree = t.utils._pytree
        tree.register_constant(Setting)
        leaves, spec = tree.tree_flatten([Setting(1), 2])
        same = spec == tree.tree_structure([Setting(1), 3])
        other = spec == tree.tree_structure([Setting(2), 3])
        return leaves, same, other, spec.unflatten([5])[0].n, tree.is_constant_class(Setting)

    compare(run)
    compare(lambda t: t.utils._pytree.register_constant(type("Plain", (), {})), exact=True)
