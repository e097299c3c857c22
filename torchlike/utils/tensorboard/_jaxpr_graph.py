"""A module's program as the graph that TensorBoard draws."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend import core

from torchlike import autograd
from torchlike._runtime.trees import flatten, unflatten
from torchlike.nn import Module
from torchlike.nn.utils.stateless import reparametrized
from torchlike.tensor import Tensor, wrap
from torchlike.utils.tensorboard._protos import (
    AttrValue,
    GraphDef,
    NodeDef,
    VersionDef,
)


def graph_of(model: Module, inputs: Any) -> Any:
    """Return the graph of the operations of one call, with parameters and buffers by their names.

    Differs from PyTorch, which draws its own operators: these are JAX's, after the decompositions
    that XLA gets to see; functions called inside are scopes.
    """
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    leaves, structure = flatten(arguments)
    at = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
    state = dict((*model.named_parameters(), *model.named_buffers()))

    def program(own: list[Any], given: list[Any]) -> list[Any]:
        taken = list(leaves)
        for i, array in zip(at, given, strict=True):
            taken[i] = wrap(array)
        stand_ins = dict(zip(state, map(wrap, own), strict=True))
        with reparametrized(model, stand_ins, tie_weights=True):
            result = model(*unflatten(structure, taken))
        return [x._read() for x in flatten(result)[0] if isinstance(x, Tensor)]

    with autograd.no_grad():
        closed = jax.make_jaxpr(program)(
            [t._read() for t in state.values()], [leaves[i]._read() for i in at]
        )
    graph = _Graph(type(model).__name__)
    for i, var in enumerate(closed.jaxpr.invars):
        if i < len(state):
            path = list(state)[i].replace(".", "/")
            graph.add(f"{graph.scope}/{path}", "Parameter", [], var)
        else:
            graph.add(f"input/{i - len(state)}", "IO Node", [], var)
    for i, var in enumerate(closed.jaxpr.constvars):
        graph.add(f"{graph.scope}/constant_{i}", "Const", [], var)
    graph.walk(closed.jaxpr)
    for i, var in enumerate(closed.jaxpr.outvars):
        graph.add(f"output/{i}", "IO Node", [graph.name_of(var)], None, var.aval)
    return GraphDef(node=graph.nodes, versions=VersionDef(producer=22))


class _Graph:
    """Nodes made so far, and which of them gives each variable."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.nodes: list[Any] = []
        self._given_by: dict[Any, str] = {}
        self._taken: dict[str, int] = {}

    def name_of(self, atom: Any) -> str:
        """Return the node that gives an input of an operation; a literal gets one of its own."""
        if not isinstance(atom, core.Literal):
            return self._given_by[atom]
        return self.add(self._free(f"{self.scope}/literal"), "Const", [], None, atom.aval)

    def add(self, name: str, op: str, inputs: list[str], gives: Any, aval: Any = None) -> str:
        shape = {"dim": [{"size": size} for size in (aval or gives.aval).shape]}
        shapes = AttrValue(list=AttrValue.ListValue(shape=[shape]))
        self.nodes.append(NodeDef(name=name, op=op, input=inputs, attr={"_output_shapes": shapes}))
        if gives is not None:
            self._given_by[gives] = name
        return name

    def _free(self, name: str) -> str:
        """Return a name that no other node has."""
        count = self._taken[name] = self._taken.get(name, -1) + 1
        return f"{name}_{count}"

    def walk(self, jaxpr: Any) -> None:
        """Add the operations of a program; those of a function that it calls lie in its scope."""
        for eqn in jaxpr.eqns:
            inputs = [self.name_of(v) for v in eqn.invars]
            called = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
            if (
                isinstance(called, core.ClosedJaxpr)
                and not called.consts
                and (len(called.jaxpr.invars) == len(inputs))
            ):
                self._enter(eqn, called.jaxpr, inputs)
                continue
            name = self._free(f"{self.scope}/{eqn.primitive.name}")
            for i, var in enumerate(eqn.outvars):
                self.add(name if not i else f"{name}/{i}", eqn.primitive.name, inputs, var)

    def _enter(self, eqn: Any, jaxpr: Any, inputs: list[str]) -> None:
        self._given_by.update(zip(jaxpr.invars, inputs, strict=True))
        outside = self.scope
        self.scope = self._free(f"{outside}/{eqn.params.get('name', eqn.primitive.name)}")
        self.walk(jaxpr)
        results = [self.name_of(v) for v in jaxpr.outvars]
        self._given_by.update(zip(eqn.outvars, results, strict=True))
        self.scope = outside
