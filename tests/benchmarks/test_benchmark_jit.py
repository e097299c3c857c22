"""benchmarks.jit: its nets in every framework compute the same, its parts run."""

import json
import subprocess
import sys

import numpy as np
import pytest
from rich.text import Text

from benchmarks import build, frameworks, jit, pool
from benchmarks.session import Measurement

STEPS = 3
#: Deep graphs take a while to compile.
LONG = [pytest.param(name, marks=pytest.mark.full) for name in ("cnn", "resnet", "gpt", "gpt12")]


def losses(label, workload):
    framework = frameworks.parse(label)
    library = pytest.importorskip({"jax": "jax", "torchlike": "torchlike"}[framework.library])
    made = build.runner(framework, library, workload)
    assert made.value is not None
    found = [made.value(made.step()) for _ in range(STEPS)]
    made.finish()
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("workload", ["mlp", *LONG])
def test_nnx_computes_what_hand_written_jax_does(workload):
    np.testing.assert_allclose(losses("nnx", workload), losses("jax", workload), rtol=3e-5)


@pytest.mark.exhaustive
def test_the_lstm_in_nnx_has_one_bias_where_pytorch_has_two():
    # Adam moves two biases twice as far as their sum alone: equal at first, then a little apart.
    found, expected = losses("nnx", "lstm"), losses("jax", "lstm")
    assert found[0] == pytest.approx(expected[0], rel=1e-5)
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.full
@pytest.mark.parametrize("workload", ["resnet", "gpt12"])
def test_long_nets_follow_hand_written_jax(workload):
    # Batch norm over 8 images and momentum amplify the rounding of sums in another order.
    np.testing.assert_allclose(
        losses("torchlike.jit", workload), losses("jax", workload), rtol=2e-4
    )


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("side", "kernel", "stride"),
    [(8, 3, 1), (8, 3, 2), (4, 3, 1), (2, 3, 1), (4, 3, 2), (9, 1, 2), (16, 7, 2)],
)
def test_lowerings_of_convolution_agree_with_lax(side, kernel, stride):
    jax = pytest.importorskip("jax")
    from benchmarks.workloads.jax_layers import convolution

    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, side, side, 5), dtype=np.float32)
    weight = rng.standard_normal((kernel, kernel, 5, 3), dtype=np.float32)
    expected = jax.lax.conv_general_dilated(
        x,
        weight,
        (stride, stride),
        [(kernel // 2, kernel // 2)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    found = convolution(jax.numpy.asarray(x), jax.numpy.asarray(weight), stride)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("side", [4, 7, 8])
def test_max_pool_agrees_with_lax(side):
    jax = pytest.importorskip("jax")
    from benchmarks.workloads.jax_layers import max_pool_3x3

    x = np.random.default_rng(0).standard_normal((2, side, side, 3), dtype=np.float32)
    expected = jax.lax.reduce_window(
        x, -np.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))
    )
    np.testing.assert_array_equal(max_pool_3x3(jax.numpy.asarray(x)), expected)


def test_hidden_cells_and_arguments_are_given_the_same_work():
    jax, torchlike = pytest.importorskip("jax"), pytest.importorskip("torchlike")
    ours, theirs = jit.hidden_cells(torchlike, jax, 3)
    for _ in range(3):
        np.testing.assert_array_equal(ours(), theirs())


def test_what_checks_cost_stands_beside_the_checked_step():
    def cell(label, seconds):
        return Measurement("mlp", label, rounds=[seconds] * 3, losses=[1.0])

    cells = {jit.OURS: cell(jit.OURS, 0.0204), jit.UNCHECKED: cell(jit.UNCHECKED, 0.02)}
    table = jit._steps_table("mlp", cells)
    (column,) = [c for c in table.columns if c.header == "÷ unchecked"]
    assert [Text.from_markup(x).plain for x in column.cells] == ["1.02 (≤ 1.02)", ""]


def test_a_step_without_checks_has_no_word():
    torchlike = pytest.importorskip("torchlike")
    net = jit.NETS["mlp"].in_torch(torchlike, jit.NETS["mlp"].problem())
    words = {}
    for label in (jit.OURS, jit.UNCHECKED):
        step = build.torch_step(frameworks.parse(label), torchlike, net)
        step(net.x, net.y).item()
        words[label] = step.latest.words
    assert words[jit.OURS] is not None
    assert words[jit.UNCHECKED] is None


@pytest.mark.full
def test_the_command_times_and_weighs(tmp_path):
    out = tmp_path / "out.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.jit",
            "--quick",
            "--workloads",
            "mlp",
            "--parts",
            "compile",
            "memory",
            "--json",
            str(out),
        ],
        cwd=pool.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    (compiling,), (memory,) = found["compile"], found["memory"]
    assert all(seconds > 0 for seconds in compiling["torchlike.jit"] + compiling["jax@tuned"])
    # 784-256-10 with Adam's two moments: 2.4 MB at least.
    assert all(need > 2.4 for _, need in memory["torchlike.jit.cleared"])
