"""Which operators an exported graph has: PyTorch's, with the same arguments."""

import warnings

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx as torch_make_fx

import torchlike
from tests.parity.export.operator_rows import ROWS
from torchlike.fx.experimental.proxy_tensor import make_fx


def operators(library, make_graph, line):
    """The operators of a line, as text."""
    scope = {"torch": library, "F": library.nn.functional}
    x = library.eye(4) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PyTorch says of its own functions
        graph = make_graph(eval(f"lambda x: {line}", scope), pre_dispatch=True)(x).graph
    nodes = [n for n in graph.nodes if n.op == "call_function" and "assert" not in str(n.target)]
    names = {n: f"%{i}" for i, n in enumerate(nodes)}

    def shown(a):
        if isinstance(a, (list, tuple)):
            return [shown(v) for v in a]
        return names.get(a, "%x") if getattr(a, "op", None) else repr(a)

    return [
        (str(n.target), shown(list(n.args)), {k: shown(v) for k, v in n.kwargs.items()})
        for n in nodes
    ]


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("line", ROWS)
def test_a_line_has_the_same_operators(line):
    found = operators(torchlike, make_fx, line)
    assert found == operators(torch, torch_make_fx, line)
