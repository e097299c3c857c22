"""``torchlike.bench`` and the command: rows by turns, results compared, table, page, plot, JSON."""

import io
import json
import sys

import jax
import pytest
from rich.console import Console

import torchlike as torch
from torchlike.porting.bench import candidates, command, on_torchlike, timing
from torchlike.porting.bench.report import BenchReport, notes
from torchlike.porting.bench.turns import BenchRow, measure
from torchlike.porting.bench.workbench import RemoteWorkbench, WorkerError

X = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]])
EVERY = ["eager", "deferred", "compiled", "JAX by hand"]


def test_every_row_computes_the_same():
    layer = torch.nn.Linear(3, 2)
    weights = [p.detach().jax() for p in layer.parameters()]
    report = torch.bench(layer, X, jax=lambda x: x @ weights[0].T + weights[1], rounds=2)
    rows = {(row.row, row.mode): row for row in report.rows}
    both = ("forward", "with gradients")
    assert list(rows) == [(name, mode) for mode in both for name in EVERY]
    assert all(len(row.rounds) == 2 and row.first > 0 for row in report.rows)
    assert rows["eager", "forward"].ratio is None
    # JAX by hand knows nothing of the module's parameters, so it has fewer gradients.
    wrong = [key for key, row in rows.items() if row.apart is not None and row.apart > 1e-6]
    assert wrong == [("JAX by hand", "with gradients")]
    assert rows["compiled", "forward"].work["flops"] == {"f32": 2 * 2 * 3 * 2}
    text = str(report)
    assert "Linear: with gradients" in text
    assert "compiled, forward: 24 FLOP f32" in text
    assert "JAX by hand, with gradients: results differ from eager's by inf" in text
    assert json.loads(json.dumps(report.as_json()))["rows"][0]["median"] > 0


def test_gradients_are_weighted():
    report = torch.bench(lambda x: x.softmax(-1), X, jax=lambda x: jax.nn.softmax(x, -1), rounds=1)
    assert [row.apart < 1e-5 for row in report.rows if row.apart is not None] == [True] * 6


def test_what_has_no_gradient_is_timed_forward_alone():
    report = torch.bench(torch.add, torch.arange(3), 2, rounds=1)
    assert {row.mode for row in report.rows} == {"forward"}
    assert len(report.rows) == 3


def test_a_row_that_fails_is_left_out_and_says_why():
    def failing(x):
        raise KeyError("no")

    report = torch.bench(torch.sin, X, jax=failing, gradients=False, rounds=1)
    assert [row.row for row in report.rows] == EVERY[:3]
    assert report.remarks == ["JAX by hand, forward: KeyError: 'no'"]


def test_an_error_of_several_rows_is_told_once():
    report = torch.bench(lambda x: x, X, X, rounds=1)
    (said,) = report.remarks
    assert said.startswith("every row: TypeError: ")
    report = torch.bench(torch.sin, X, X, jax=lambda x, y: x, gradients=False, rounds=1)
    (said,) = report.remarks
    assert said.startswith("eager, forward; deferred, forward; compiled, forward: TypeError: ")


def test_eager_calls_are_timed_once_their_operations_are_compiled():
    x = torch.rand(37, 41, 43)
    made = on_torchlike.rows(lambda x: x.logcumsumexp(1), (x,), None, False)
    candidate = made.candidates["eager", "forward"]

    def compiled():
        return {row.name: row.compiled for row in torch.compiler.report().rows if row.compiled}

    before = compiled()
    timing.first_call(candidate)
    assert compiled() == before
    candidate.settle()
    assert compiled() != before
    settled = compiled()
    timing.block(candidate, 3)
    assert compiled() == settled


def test_bad_input():
    with pytest.raises(TypeError, match="bench expects a function or module, not int"):
        torch.bench(3)
    with pytest.raises(ValueError, match="rounds must be 1 or more, not 0"):
        torch.bench(torch.sin, X, rounds=0)


class Fake:
    """Note who has their turn."""

    def __init__(self, names, turns):
        self.names, self.turns = names, turns

    def open(self, sizes):
        rows = [[name, mode] for mode in ("forward", "with gradients") for name in self.names]
        return {"rows": rows, "about": {self.names[0]: "1.0"}, "remarks": ["said once"]}

    def first(self, row, mode):
        return {"seconds": 1.0, "digests": [{"value": "1"}]}

    def calls(self, row, mode):
        return 7

    def block(self, row, mode, calls):
        assert calls == 7
        self.turns.append((row, mode))
        return 0.5 if row == "eager" else 0.25

    def work(self, row, mode):
        return None


def test_rows_have_their_turns_and_a_sweep_is_drawn(tmp_path):
    turns = []
    benches = [Fake(["eager", "compiled"], turns), Fake(["PyTorch, eager"], turns)]
    sweep = [{"n": 64}, {"n": 128}]
    report = BenchReport("softmax", *measure(benches, sweep, rounds=3))
    one = [(n, m) for b in benches for m in ("forward", "with gradients") for n in b.names]
    assert turns == one * 6
    assert {row.ratio for row in report.rows} == {None, 0.5}
    assert report.remarks == ["said once"]
    assert report.about["PyTorch, eager"] == "1.0"
    assert "date" in report.about
    report.write_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    for text in ("softmax", "microseconds a call", ">128</text>", report.about["processor"]):
        assert text in page
    pytest.importorskip("matplotlib")
    report.write_plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_one_size_has_no_curve(tmp_path):
    report = BenchReport("f", [BenchRow("eager", "forward", {}, 1.0, [1.0])], {}, [])
    with pytest.raises(ValueError, match="one size has no curve"):
        report.write_plot(tmp_path / "plot.png")


def test_the_share_of_the_peak():
    work = {"flops": {"f32": 10**9}, "bytes": 10**6, "peak": None}
    row = BenchRow("compiled", "forward", {}, 1.0, [0.1], work=work)
    report = BenchReport("f", [row], {"JAX": "1"}, [], {"f32": 1e11})
    assert "10.0% of the peak" in notes(report)[0]


@pytest.mark.parametrize(("load", "told"), [("2.0", False), ("8.6", True)])
def test_a_busy_machine_is_told(load, told):
    about = {"cores": "2", "load": f"{load} processes on average in the last minute"}
    report = BenchReport("f", [BenchRow("eager", "forward", {}, 1.0, [1.0])], about, [])
    assert any("OMP_NUM_THREADS=1" in line for line in notes(report)) is told


def run(*words, **options):
    console = Console(width=100, file=io.StringIO())
    code = command.run(command.BenchOptions(*words, **options), console)
    return code, console.file.getvalue()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"shapes": ["64"]}, "a shape is"),
        ({"sweep": "n"}, "a sweep is"),
        ({"shapes": ["x=2"], "arguments": "1"}, "--args has all arguments"),
        ({"torch_python": "/no/python"}, "/no/python cannot be run: No such file"),
    ],
)
def test_what_the_command_refuses(options, says, monkeypatch):
    monkeypatch.setattr(command, "_ON_TORCHLIKE", ("-c", ""))
    code, said = run("lambda x: x", **options)
    assert code == 2
    assert says in said


def test_a_process_that_ends_is_told():
    bench = RemoteWorkbench([sys.executable, "-c", "raise SystemExit(3)"], {})
    with pytest.raises(WorkerError, match="ended with exit code 3"):
        bench.open({})
    bench.close()


@pytest.mark.exhaustive
def test_the_command_times_in_processes_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "has_pytorch", lambda: False)
    path = tmp_path / "numbers.json"
    code, said = run(
        "lambda x: print('said') or x.exp()",
        shapes=["x=n"],
        sweep="n=2,3",
        rounds=1,
        json_path=path,
        html_path=tmp_path / "page.html",
        output=tmp_path,
    )
    assert code == 0, said
    rows = json.loads(path.read_text())["rows"]
    forward = [row for row in rows if row["mode"] == "forward"]
    assert [(row["sizes"]["n"], row["row"]) for row in forward] == [
        (n, name) for n in (2, 3) for name in EVERY[:3]
    ]
    assert "Page: " in said
    code, said = run("lambda x: x", rounds=1)
    assert code == 2
    assert "x has no shape: the parameters are x; give --shape NAME=2,3" in said


def test_gradients_by_hand_do_not_follow_from_constants():
    """XLA would compute them when it compiles, as those of what is linear."""
    x = torch.ones(3, 4, requires_grad=True)
    run, arguments = on_torchlike._by_hand(lambda x: x.cumsum(-1), [x], candidates.GRADIENTS)
    program = jax.make_jaxpr(run)(*arguments)
    (call,) = program.eqns
    assert program.consts == call.params["jaxpr"].consts == []
    assert program.jaxpr.invars[0] in call.invars  # the weights
