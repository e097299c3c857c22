"""Calls with all arguments named are PyTorch's; modules in folders come back as they were."""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings

import pytest

import torchlike
from tests.parity import oracle

torch = pytest.importorskip("torch")

#: Calls: the function, the arguments, and the types that choose an overload. "T" is a tensor.
CALLS = {
    "add": ("add", "x y", {"alpha": 2}),
    "add of a number": ("add", "x 2", {}),
    "sub": ("sub", "x y", {}),
    "mul": ("mul", "x 2.5", {}),
    "div": ("div", "x y", {"rounding_mode": "floor"}),
    "relu": ("relu", "x", {}),
    "clamp": ("clamp", "x", {"min": 0}),
    "cat": ("cat", "xs 1", {}),
    "stack": ("stack", "xs", {}),
    "sum": ("sum", "x", {"dim": 1}),
    "mean": ("mean", "x", {}),
    "softmax": ("softmax", "x 1", {}),
    "transpose": ("transpose", "x 0 1", {}),
    "flatten": ("flatten", "x 1", {}),
    "reshape": ("reshape", "x shape", {}),
    "addmm": ("addmm", "x x y", {"beta": 2}),
    "matmul": ("matmul", "x y", {}),
    "bmm": ("bmm", "x y", {}),
    "conv2d": ("conv2d", "x y", {"stride": 2}),
    "where": ("where", "x x y", {}),
    "gather": ("gather", "x 1 y", {}),
    "topk": ("topk", "x 2", {}),
    "var": ("var", "x 1", {}),
    "zeros_like": ("zeros_like", "x", {}),
    "linalg norm": ("linalg.norm", "x", {}),
    "linalg inv": ("linalg.inv", "x", {}),
    "F linear": ("nn.functional.linear", "x y", {}),
    "F gelu": ("nn.functional.gelu", "x", {"approximate": "tanh"}),
    "F relu": ("nn.functional.relu", "x", {}),
    "F dropout": ("nn.functional.dropout", "x 0.1", {}),
    "F layer_norm": ("nn.functional.layer_norm", "x shape", {}),
    "F batch_norm": ("nn.functional.batch_norm", "x x y", {}),
    "F max_pool2d": ("nn.functional.max_pool2d", "x 2", {}),
    "F adaptive": ("nn.functional.adaptive_avg_pool2d", "x 1", {}),
    "F interpolate": ("nn.functional.interpolate", "x", {"scale_factor": 2}),
    "F cross_entropy": ("nn.functional.cross_entropy", "x y", {}),
    "F pad": ("nn.functional.pad", "x shape", {}),
    "F embedding": ("nn.functional.embedding", "x y", {}),
    "F sdpa": ("nn.functional.scaled_dot_product_attention", "x x y", {}),
    "functional split": ("functional.split", "x 2", {}),
    "functional norm": ("functional.norm", "x", {}),
    "overload": ("ops.aten.add.Tensor", "x y", {}),
    "packet": ("ops.aten.addmm", "x x y", {}),
    "too many": ("relu", "x y y", {}),
}


def given(t, words):
    named = {"x": "X", "y": "Y", "xs": ["X", "Y"], "shape": [2, 3]}
    return tuple(
        named[w] if w in named else (float(w) if "." in w else int(w)) for w in words.split()
    )


def types(t, args):
    schemas = importlib.import_module(f"{t.__name__}.fx.operator_schemas")
    kinds = [
        [t.Tensor if v == "X" or v == "Y" else type(v) for v in a]
        if isinstance(a, list)
        else t.Tensor
        if isinstance(a, str)
        else type(a)
        for a in args
    ]
    return tuple(schemas.create_type_hint(k) for k in kinds)


def normalized(t, name, by_name):
    path, words, kwargs = CALLS[name]
    target = t
    for part in path.split("."):
        target = getattr(target, part)
    schemas = importlib.import_module(f"{t.__name__}.fx.operator_schemas")
    args = given(t, words)
    kinds = {k: type(v) for k, v in kwargs.items()}
    found = schemas.normalize_function(target, args, kwargs, types(t, args), kinds, by_name)
    return found if found is None else (found.args, found.kwargs)


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_normalized_calls(name, by_name):
    oracle.compare(lambda t: normalized(t, name, by_name))


def test_most_calls_have_a_form():
    found = [oracle.outcome(lambda t, n=n: normalized(t, n, True), torch) for n in CALLS]
    assert sum(isinstance(f, tuple) for f in found) >= len(CALLS) - 4


MODULES = [
    "Linear",
    "Conv2d",
    "BatchNorm1d",
    "ReLU",
    "Dropout",
    "Embedding",
    "LayerNorm",
    "MultiheadAttention",
    "LSTM",
    "CrossEntropyLoss",
    "Bilinear",
    "MaxPool2d",
    "Softmax",
    "Upsample",
    "Transformer",
    "Identity",
]


@pytest.mark.parametrize("name", MODULES)
def test_modules_have_the_same_parameters(name):
    def parameters(t):
        found = inspect.signature(getattr(t.nn, name).forward).parameters.values()
        return [
            (p.name, str(p.kind), p.default if p.default is not p.empty else "none") for p in found
        ]

    oracle.compare(parameters)


def model(t):
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.act = t.nn.Linear(3, 3), t.nn.ReLU()
            self.norm = t.nn.BatchNorm1d(3)
            self.register_buffer("offset", t.arange(3.0))
            self.scale = t.nn.Parameter(t.full((3,), 2.0))

        def forward(self, x):
            y = self.norm(self.act(input=self.linear(x)))
            return t.nn.functional.dropout(y, 0.0) * self.scale + t.relu(self.offset)

    t.manual_seed(0)
    return t.fx.symbolic_trace(Model().eval())


def test_arguments_of_nodes_and_graphs_in_one_form():
    def found(t):
        module = model(t)
        x = t.ones(2, 3)
        importlib.import_module(f"{t.__name__}.fx.passes.shape_prop").ShapeProp(module).propagate(x)
        normalize = importlib.import_module(f"{t.__name__}.fx.experimental.normalize")
        made = normalize.NormalizeArgs(module).transform()
        nodes = [
            n.normalized_arguments(module, normalize_to_only_use_kwargs=True)
            for n in module.graph.nodes
            if n.op == "call_module"
        ]
        shown = [(tuple(map(str, n.args)), {k: str(v) for k, v in n.kwargs.items()}) for n in nodes]
        return made.code, shown, t.equal(made(x), module(x))

    *_, same = oracle.compare(found)
    assert same


def test_operators_for_functions():
    def found(t):
        normalize = importlib.import_module(f"{t.__name__}.fx.experimental.normalize")
        module = t.fx.symbolic_trace(lambda x, y: t.div(t.add(x, y), t.remainder(x, 3)))
        return normalize.NormalizeOperators(module).transform().code

    assert "+" in oracle.compare(found)


def test_operators_keep_options():
    normalize = importlib.import_module("torchlike.fx.experimental.normalize")
    module = torchlike.fx.symbolic_trace(lambda x: torchlike.add(x, x, alpha=3))
    made = normalize.NormalizeOperators(module).transform()
    assert made(torchlike.ones(1)).item() == 4


def test_calls_that_write_are_refused_where_asked():
    def found(t):
        class Tracer(t.fx.Tracer):
            check_mutable_operations = True

        return Tracer().trace(lambda x: t.relu_(x))

    oracle.refused(found, words=30)


def folding(t):
    optimization = importlib.import_module(f"{t.__name__}.fx.experimental.optimization")

    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = t.nn.Conv2d(1, 2, 3), t.nn.BatchNorm2d(2)
            self.drop, self.linear, self.last = (
                t.nn.Dropout(),
                t.nn.Linear(8, 4),
                t.nn.BatchNorm1d(4),
            )

        def forward(self, x):
            return self.last(self.linear(self.drop(self.norm(self.conv(x)).flatten(1))))

    t.manual_seed(0)
    model = Model()
    model(t.linspace(-1, 1, 32).view(2, 1, 4, 4))
    model.eval()
    made = optimization.fuse(optimization.remove_dropout(model))
    x = t.linspace(0, 1, 32).view(2, 1, 4, 4)
    return made.code, made(x).detach(), [n for n, _ in made.named_modules()]


def test_batch_norms_are_folded():
    oracle.compare(folding)


def test_a_layer_that_is_called_twice_is_not_folded_twice():
    optimization = importlib.import_module("torchlike.fx.experimental.optimization")
    t = torchlike

    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = t.nn.Linear(3, 3), t.nn.BatchNorm1d(3)

        def forward(self, x):
            return self.norm(self.linear(self.norm(self.linear(x))))

    model = Model()
    model(t.linspace(-1, 1, 9).view(3, 3))
    model.eval()
    x = t.linspace(0, 1, 9).view(3, 3)
    t.testing.assert_close(optimization.fuse(model)(x), model(x))


def sizes(t):
    manipulation = importlib.import_module(f"{t.__name__}.fx.passes.graph_manipulation")
    module = model(t)
    manipulation.get_size_of_all_nodes(module, [t.ones(2, 3)])
    found = [(n.name, tuple(n.size_bytes)) for n in module.graph.nodes if n.op != "output"]
    manipulation.replace_target_nodes_with(module, "call_function", t.relu, "call_function", t.neg)
    return found, module.code


def test_sizes_and_exchanged_targets():
    oracle.compare(sizes)


@pytest.mark.parametrize("library", [torch, torchlike], ids=["torch", "torchlike"])
def test_folders(library, tmp_path, monkeypatch):
    module = model(library)
    with pytest.warns(UserWarning, match=r"following children modules.*\['act'\]"):
        module.to_folder(tmp_path / f"of_{library.__name__}", "Written")
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module(f"of_{library.__name__}").Written()
    x = library.ones(2, 3)
    assert library.equal(made.eval()(x), module(x))
    assert made.state_dict().keys() == module.state_dict().keys()
    sys.modules.pop(f"of_{library.__name__}")


def doubled(x):
    return x * 2


torchlike.fx.wrap("doubled")


def test_folders_of_what_pytorch_cannot_write(tmp_path, monkeypatch):
    """Layers of other dtypes, padding modes, wrapped functions."""
    t = torchlike

    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.wide = t.nn.Linear(2, 2, dtype=t.float64)
            self.conv = t.nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular")

        def forward(self, x):
            return doubled(self.wide(x)) + self.conv(x[:, None].float())[:, 0]

    module = t.fx.symbolic_trace(Model())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        module.to_folder(tmp_path / "of_others")
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("of_others").FxModule()
    x = t.ones(3, 2, dtype=t.float64)
    assert made.wide.weight.dtype is t.float64
    assert t.equal(made(x), module(x))
    sys.modules.pop("of_others")
