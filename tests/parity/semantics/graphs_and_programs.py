"""Exported programs, graphs of fx and the types in them."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any


def _at(t: Any, place: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{place}")


def _module(t: Any, function: Any) -> Any:
    return type("M", (t.nn.Module,), {"forward": lambda self, *a, **k: function(*a, **k)})()


def _operators(program: Any) -> list[str]:
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def _exported(t: Any, function: Any, *args: Any, **how: Any) -> Any:
    return t.export.export(_module(t, function), args, **how)


def targets_of_calls(t: Any) -> Any:
    f = t.nn.functional
    return _operators(_exported(t, lambda x: f.relu(f.linear(x, x)) + x.sum(), t.ones(2, 2)))


def targets_in_the_module(t: Any) -> Any:
    program = _exported(t, lambda x: t.relu(x) + 1, t.ones(2))
    return [(n.op, str(n.target)) for n in program.module().graph.nodes if n.op != "call_module"]


def the_graph_printed(t: Any) -> Any:
    return str(_exported(t, lambda x: x + 1, t.ones(2)).graph)


def the_signature_printed(t: Any) -> Any:
    return str(_exported(t, lambda x, y: (x + 1, y), t.ones(2), t.ones(3)).graph_signature)


def a_dataclass(t: Any) -> Any:
    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    t.export.register_dataclass(Pair, serialized_type_name=f"Pair of {t.__name__}")
    program = _exported(t, lambda p: Pair(p.a + p.b, p.a), Pair(t.ones(2), t.ones(2)))
    found = program.module()(Pair(t.ones(2), t.ones(2)))
    return _operators(program), type(found).__name__, found.a


def the_function_behind_export(t: Any) -> Any:
    export = _at(t, "export._trace")._export
    linear = _module(t, lambda x: t.nn.functional.linear(x, x) + 1)
    return [_operators(export(linear, (t.ones(2, 2),), pre_dispatch=pre)) for pre in (False, True)]


def a_buffer_that_is_written(t: Any) -> Any:
    class Counting(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("n", t.zeros(1))

        def forward(self, x: Any) -> Any:
            self.n.add_(1)
            return x + self.n

    program = t.export.export(Counting(), (t.ones(1),))
    module = program.module()
    module(t.ones(1))
    return _operators(program), module(t.ones(1))


def keywords_that_are_missing(t: Any) -> Any:
    program = t.export.export(_Adding.of(t), (t.ones(2),), {"y": t.ones(2)})
    return program.module()(t.ones(2), y=t.ones(2))


class _Adding:
    @staticmethod
    def of(t: Any) -> Any:
        return type("A", (t.nn.Module,), {"forward": lambda self, x, y=None: x + y})()


def decomposed_by_no_table(t: Any) -> Any:
    f = t.nn.functional
    program = _exported(t, lambda x: f.silu(f.linear(x, x)), t.ones(2, 2))
    return _operators(program.run_decompositions({}))


def decomposed_to_the_core(t: Any) -> Any:
    f = t.nn.functional
    return _operators(_exported(t, lambda x: f.silu(x), t.ones(2, 2)).run_decompositions())


def a_size_from_a_value(t: Any) -> Any:
    def f(x: Any) -> Any:
        n = x.item()
        t._check(n >= 0)
        t._check(n < 10)
        return t.zeros(n)

    return _exported(t, f, t.tensor(3)).module()(t.tensor(5)).shape


def a_number_from_a_value(t: Any) -> Any:
    return _operators(_exported(t, lambda x: x.item() + 1, t.tensor(3)))


def places_that_are_not_zero(t: Any) -> Any:
    program = _exported(t, lambda x: x.nonzero(), t.tensor([1, 0, 2]))
    return program.module()(t.tensor([1, 1, 1]))


def chosen_by_a_mask(t: Any) -> Any:
    return _exported(t, lambda x: x[x > 0], t.tensor([1, 0, 2])).module()(t.tensor([1, 1, 1]))


def sizes_from_a_list(t: Any) -> Any:
    def f(x: Any) -> Any:
        a, b = x.tolist()
        t._check(a >= 0)
        t._check(b >= 0)
        return t.ones(a + b)

    return _exported(t, f, t.tensor([1, 2])).module()(t.tensor([2, 3])).shape


def a_branch_on_a_value(t: Any) -> Any:
    try:
        _exported(t, lambda x: x if x.item() > 0 else -x, t.tensor(1))
    except Exception as error:
        return type(error).__name__


def the_signature_of_a_submodule(t: Any) -> Any:
    outer = t.nn.Sequential(t.nn.Linear(2, 2))
    program = t.export.export(outer, (t.ones(1, 2),), preserve_module_call_signature=("0",))
    return [e.signature is not None for e in program.module_call_graph]


def constants_are_folded(t: Any) -> Any:
    class Folded(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = t.nn.Parameter(t.ones(2))

        def forward(self, x: Any) -> Any:
            return x + (self.w * 2 + 1)

    module = _at(t, "fx.experimental.const_fold").split_const_subgraphs(Folded())
    module.run_folding()
    return module(t.zeros(2)), [n.op for n in module.graph.nodes]


def _traced(t: Any, function: Any) -> Any:
    one = type("A", (t.nn.Module,), {"forward": lambda self, x: function(x)})
    return t.fx.symbolic_trace(one())


def a_pattern_replaced(t: Any) -> Any:
    module = _traced(t, lambda x: t.neg(x) + 1)
    _at(t, "fx.subgraph_rewriter").replace_pattern(module, lambda x: t.neg(x), lambda x: t.relu(x))
    return module(t.tensor([-1.0])), [n.name for n in module.graph.nodes]


def a_module_split(t: Any) -> Any:
    module = _traced(t, lambda x: t.relu(x + 1) * 2)
    split = _at(t, "fx.passes.split_module").split_module(
        module, None, lambda n: 0 if n.name in ("add", "relu") else 1
    )
    return [str(n) for n in split.graph.nodes], split(t.ones(1))


def an_annotated_value(t: Any) -> Any:
    return [str(n.type) for n in _traced(t, lambda x: t.fx.annotate(x, int) + 1).graph.nodes]


def types_of_tensors(t: Any) -> Any:
    types = _at(t, "fx.tensor_type")
    of, dyn = types.TensorType, types.Dyn
    pairs = [
        (dyn, 3),
        (of((1, dyn)), of((2, 3))),
        (of((1, dyn)), of((1, 3))),
        (of((1, 3)), of((1, dyn))),
        (of((1,)), of((1, 2))),
        (of((1,)), dyn),
        (int, int),
        (of((1,)), of([1])),
    ]
    return [[types.is_consistent(*p), types.is_more_precise(*p), p[0] == p[1]] for p in pairs], [
        str(of((1, dyn))),
        repr(dyn),
        str(of[1, 2]),
    ]


def types_that_are_keys(t: Any) -> Any:
    return {_at(t, "fx.tensor_type").TensorType((1,)): 1}


def types_kept_in_a_graph(t: Any) -> Any:
    of = _at(t, "fx.tensor_type").TensorType

    def forward(self: Any, x: Any, y: Any) -> Any:
        return x + y

    forward.__annotations__ = {"x": of((1, 2)), "y": of((1, 2))}
    typed = type("Typed", (t.nn.Module,), {"forward": forward})
    return [str(n.type) for n in t.fx.symbolic_trace(typed()).graph.nodes][:2]
