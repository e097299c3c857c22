"""A tracer of a library's own, made of what PyTorch's tracer is made of."""

from __future__ import annotations

import importlib
import math

from tests.parity import oracle


def traced(t):
    st = importlib.import_module(f"{t.__name__}.fx._symbolic_trace")

    class Tracer(t.fx.Tracer):
        @st.compatibility(is_backward_compatible=True)
        def trace(self, root, concrete_args=None):
            self.root, fn = root, type(root).forward
            self.submodule_paths = {m: name for name, m in root.named_modules()}
            self.graph = t.fx.Graph(tracer_cls=type(self))
            self.tensor_attrs = {}
            table, cache = fn.__globals__, {}
            assert isinstance(fn, st.FunctionType)
            assert not isinstance(root, st.ScriptObject)
            fn, args = self.create_args_for_root(fn, True, concrete_args)

            @st.functools.wraps(st._orig_module_getattr)
            def module_getattr(mod, attr):
                return self.getattr(attr, st._orig_module_getattr(mod, attr), cache)

            @st.functools.wraps(st._orig_module_call)
            def module_call(mod, *args, **kwargs):
                def forward(*a, **k):
                    return st._orig_module_call(mod, *a, **k)

                st._autowrap_check(patcher, mod.forward.__globals__, self._autowrap_function_ids)
                return self.call_module(mod, forward, args, kwargs)

            with st._Patcher() as patcher:
                for name, new in (("__getattr__", module_getattr), ("__call__", module_call)):
                    patcher.patch_method(t.nn.Module, name, new, deduplicate=False)
                st._patch_wrapped_functions(patcher)
                st._autowrap_check(patcher, table, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    st._autowrap_check(patcher, vars(module), self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(fn(*args)),), {})
            self.submodule_paths = None
            return self.graph

    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.scale = t.nn.Linear(2, 2), t.nn.Parameter(t.ones(2))

        def forward(self, x):
            return (self.layer(x) * self.scale).relu() + math.sqrt(4)

    model = Model()
    graph = Tracer().trace(model)
    module = t.fx.GraphModule(model, graph)
    x = t.ones(1, 2)
    return [(n.op, n.name) for n in graph.nodes], t.equal(module(x), model(x))


def test_as_pytorch():
    nodes, equal = oracle.compare(traced)
    assert equal
    assert len(nodes) == 7
