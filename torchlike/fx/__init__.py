"""``torch.fx``: programs as graphs of Python calls, which can be read, changed and run.

``symbolic_trace(model)`` runs the model once on proxies and gives a GraphModule, which runs eagerly
and in ``torchlike.jit``.

Imports `nn`, `ops` and below. Begin with ``_symbolic_trace.py`` and ``graph.py``;
``experimental/proxy_tensor.py`` has `make_fx`, which sees operators in place of calls.
"""

from torchlike.fx import experimental as experimental
from torchlike.fx import immutable_collections as immutable_collections
from torchlike.fx import passes as passes
from torchlike.fx import traceback as traceback
from torchlike.fx._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    is_fx_tracing,
    symbolic_trace,
    wrap,
)
from torchlike.fx.graph import CodeGen, Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.interpreter import Interpreter, Transformer
from torchlike.fx.node import Node, has_side_effect, map_arg
from torchlike.fx.proxy import Proxy
from torchlike.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "is_fx_tracing",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
