"""Hooks on modules and tensors, the engine's own calls, saved tensors, nested backward passes."""

from __future__ import annotations

from typing import Any


def _global(t: Any) -> Any:
    return t.nn.modules.module


def a_hook_on_all_modules_that_removes_another(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []

    def first(*_: Any) -> None:
        said.append("first")
        handles[1].remove()

    handles.append(_global(t).register_module_forward_hook(first))
    handles.append(_global(t).register_module_forward_hook(lambda *_: said.append("second")))
    try:
        layer = t.nn.Identity()
        layer(t.ones(1))
        layer(t.ones(1))
    finally:
        for h in handles:
            h.remove()
    return said


def a_hook_on_all_modules_that_removes_itself(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []

    def first(*_: Any) -> None:
        said.append("first")
        handles[0].remove()

    handles.append(_global(t).register_module_forward_hook(first))
    handles.append(_global(t).register_module_forward_hook(lambda *_: said.append("second")))
    try:
        layer = t.nn.Identity()
        layer(t.ones(1))
        layer(t.ones(1))
    finally:
        handles[1].remove()
    return said


def a_pre_hook_on_all_modules_that_removes_itself(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []

    def first(*_: Any) -> None:
        said.append("first")
        handles[0].remove()

    handles.append(_global(t).register_module_forward_pre_hook(first))
    handles.append(_global(t).register_module_forward_pre_hook(lambda *_: said.append("second")))
    try:
        layer = t.nn.Identity()
        layer(t.ones(1))
        layer(t.ones(1))
    finally:
        handles[1].remove()
    return said


def a_hook_on_all_modules_that_adds_another(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []

    def first(*_: Any) -> None:
        said.append("first")
        handles.append(_global(t).register_module_forward_hook(lambda *_: said.append("added")))

    handles.append(_global(t).register_module_forward_hook(first))
    try:
        layer = t.nn.Identity()
        layer(t.ones(1))
    finally:
        for h in handles:
            h.remove()
    return said


def a_module_hook_that_removes_another(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []
    layer = t.nn.Identity()

    def first(*_: Any) -> None:
        said.append("first")
        handles[1].remove()

    handles.append(layer.register_forward_hook(first))
    handles.append(layer.register_forward_hook(lambda *_: said.append("second")))
    layer(t.ones(1))
    layer(t.ones(1))
    return said


def a_module_hook_that_adds_another(t: Any) -> Any:
    said: list[str] = []
    layer = t.nn.Identity()

    def first(*_: Any) -> None:
        said.append("first")
        layer.register_forward_hook(lambda *_: said.append("added"))

    layer.register_forward_hook(first)
    layer(t.ones(1))
    return said


def the_order_of_hooks_on_all_and_on_one(t: Any) -> Any:
    said: list[str] = []
    g = _global(t)
    layer = t.nn.Linear(1, 1)
    handles = [
        g.register_module_forward_pre_hook(lambda *_: said.append("all, before")),
        g.register_module_forward_hook(lambda *_: said.append("all, after")),
        g.register_module_full_backward_pre_hook(lambda *_: said.append("all, before backward")),
        g.register_module_full_backward_hook(lambda *_: said.append("all, backward")),
        layer.register_forward_pre_hook(lambda *_: said.append("before")),
        layer.register_forward_hook(lambda *_: said.append("after")),
        layer.register_full_backward_pre_hook(lambda *_: said.append("before backward")),
        layer.register_full_backward_hook(lambda *_: said.append("backward")),
    ]
    try:
        layer(t.ones(1, 1, requires_grad=True)).sum().backward()
    finally:
        for h in handles:
            h.remove()
    return said


def a_hook_that_is_always_called_after_an_error(t: Any) -> Any:
    said: list[Any] = []

    class Broken(t.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("broken")

    g = _global(t)
    layer = Broken()
    handle = g.register_module_forward_hook(
        lambda m, args, out: said.append(("all", out)), always_call=True
    )
    layer.register_forward_hook(lambda m, args, out: said.append(("one", out)), always_call=True)
    layer.register_forward_hook(lambda m, args, out: said.append("not"))
    try:
        layer(t.ones(1))
    except ValueError as error:
        said.append(str(error))
    finally:
        handle.remove()
    return said


def a_hook_that_replaces_the_result(t: Any) -> Any:
    handle = _global(t).register_module_forward_hook(lambda m, args, out: out * 2)
    try:
        return t.nn.Sequential(t.nn.Identity(), t.nn.Identity())(t.ones(1))
    finally:
        handle.remove()


def both_kinds_of_backward_hooks_on_all(t: Any) -> Any:
    g = _global(t)
    handle = g.register_module_full_backward_hook(lambda *_: None)
    try:
        g.register_module_backward_hook(lambda *_: None)
    finally:
        handle.remove()


def both_kinds_of_backward_hooks_on_one(t: Any) -> Any:
    layer = t.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *_: None)
    layer.register_backward_hook(lambda *_: None)


def a_full_backward_hook_that_gives_the_wrong_number(t: Any) -> Any:
    layer = t.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    layer(t.ones(1, 1, requires_grad=True)).sum().backward()


def a_full_backward_hook_without_inputs_that_require_grad(t: Any) -> Any:
    said: list[Any] = []
    layer = t.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda m, gi, go: said.append((gi, go)))
    layer(t.ones(1, 1)).sum().backward()
    return said


def an_input_of_a_full_backward_hook_written_to(t: Any) -> Any:
    layer = t.nn.ReLU(inplace=True)
    layer.register_full_backward_hook(lambda *_: None)
    return layer(t.ones(1, requires_grad=True) * 1)


def an_engine_callback_in_a_hook(t: Any) -> Any:
    said: list[str] = []
    engine = t.autograd.Variable._execution_engine
    x = t.ones(1, requires_grad=True)

    def hook(g: Any) -> None:
        said.append("hook")
        engine.queue_callback(lambda: said.append("callback"))

    y = x * 2
    y.register_hook(hook)
    x.register_hook(lambda g: said.append("leaf"))
    y.sum().backward()
    said.append("after")
    return said


def an_engine_callback_in_a_callback(t: Any) -> Any:
    said: list[str] = []
    engine = t.autograd.Variable._execution_engine
    x = t.ones(1, requires_grad=True)

    def outer() -> None:
        said.append("outer")
        engine.queue_callback(lambda: said.append("inner"))

    x.register_hook(lambda g: engine.queue_callback(outer))
    (x * 2).sum().backward()
    return said


def an_engine_callback_outside_backward(t: Any) -> Any:
    t.autograd.Variable._execution_engine.queue_callback(lambda: None)


def an_engine_callback_that_raises(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)

    def broken() -> None:
        raise KeyError("callback")

    x.register_hook(lambda g: t.autograd.Variable._execution_engine.queue_callback(broken))
    (x * 2).sum().backward()


def a_gradient_seen_by_a_callback(t: Any) -> Any:
    said: list[Any] = []
    x = t.ones(1, requires_grad=True)
    engine = t.autograd.Variable._execution_engine
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: said.append(x.grad.clone())))
    y.sum().backward()
    return said


def a_hook_that_raises(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)

    def broken(g: Any) -> None:
        raise KeyError("hook")

    x.register_hook(broken)
    (x * 2).sum().backward()


def a_hook_that_gives_another_shape(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    x.register_hook(lambda g: t.ones(3))
    (x * 2).sum().backward()


def a_hook_that_gives_no_tensor(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    x.register_hook(lambda g: 3)
    (x * 2).sum().backward()


def a_hook_on_a_tensor_without_gradient(t: Any) -> Any:
    t.ones(2).register_hook(lambda g: g)


def a_hook_after_accumulation_on_a_result(t: Any) -> Any:
    (t.ones(2, requires_grad=True) * 2).register_post_accumulate_grad_hook(lambda p: None)


def a_hook_after_accumulation(t: Any) -> Any:
    said: list[Any] = []
    x = t.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: said.append(p.grad.clone()))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return said


def hooks_of_a_node(t: Any) -> Any:
    said: list[Any] = []
    x = t.ones(2, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_prehook(lambda gs: said.append(("before", gs)))
    y.grad_fn.register_hook(lambda gi, go: said.append(("after", gi, go)))
    y.sum().backward()
    return said


def a_prehook_of_a_node_that_replaces(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.sum().backward()
    return x.grad


def a_prehook_of_a_node_of_the_wrong_number(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0], gs[0]))
    y.sum().backward()


def hooks_of_several_tensors_all(t: Any) -> Any:
    said: list[Any] = []
    x = t.ones(2, requires_grad=True)
    y, z = x * 2, x * 3
    t.autograd.graph.register_multi_grad_hook((y, z), lambda gs: said.append(gs))
    (y.sum() + z.sum()).backward()
    return said


def hooks_of_several_tensors_any(t: Any) -> Any:
    said: list[Any] = []
    x = t.ones(2, requires_grad=True)
    y, z = x * 2, x * 3
    t.autograd.graph.register_multi_grad_hook((y, z), lambda g: said.append(1), mode="any")
    (y.sum() + z.sum()).backward()
    return said


def saved_tensors_of_a_node(t: Any) -> Any:
    x = t.tensor([2.0], requires_grad=True)
    y = x**3
    return y.grad_fn._saved_self, y.grad_fn._saved_exponent


def a_saved_tensor_as_it_is_kept(t: Any) -> Any:
    y = t.tensor([2.0], requires_grad=True).exp()
    return type(y.grad_fn._raw_saved_result).__name__


def hooks_of_a_saved_tensor(t: Any) -> Any:
    said: list[str] = []
    x = t.tensor([2.0], requires_grad=True)
    y = x**2
    y.grad_fn._raw_saved_self.register_hooks(
        lambda v: said.append("pack") or v.detach(), lambda v: said.append("unpack") or v * 10
    )
    y.sum().backward()
    return said, x.grad


def hooks_of_a_saved_tensor_seen_by_its_attribute(t: Any) -> Any:
    x = t.tensor([2.0], requires_grad=True)
    y = x**2
    y.grad_fn._raw_saved_self.register_hooks(lambda v: 5, lambda v: t.full((1,), float(v)))
    return y.grad_fn._saved_self


def hooks_of_a_saved_tensor_twice(t: Any) -> Any:
    y = t.tensor([2.0], requires_grad=True) ** 2
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda v: v, lambda v: v)
    raw.register_hooks(lambda v: v, lambda v: v)


def hooks_of_a_saved_tensor_that_was_freed(t: Any) -> Any:
    y = t.tensor([2.0], requires_grad=True) ** 2
    raw = y.grad_fn._raw_saved_self
    y.sum().backward()
    raw.register_hooks(lambda v: v, lambda v: v)


def a_saved_tensor_read_after_backward(t: Any) -> Any:
    y = t.tensor([2.0], requires_grad=True) ** 2
    y.sum().backward()
    return y.grad_fn._saved_self


def a_raw_saved_tensor_read_after_backward(t: Any) -> Any:
    y = t.tensor([2.0], requires_grad=True) ** 2
    y.sum().backward()
    return type(y.grad_fn._raw_saved_self).__name__


def a_pack_hook_that_gives_no_tensor_back(t: Any) -> Any:
    x = t.tensor([2.0], requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: 3):
        y = x**2
    y.sum().backward()


def a_pack_hook_that_writes_in_place(t: Any) -> Any:
    x = t.tensor([2.0], requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(lambda v: v.mul_(2), lambda v: v):
        return (x * 1) ** 2


def saved_tensors_hooks_disabled(t: Any) -> Any:
    graph = t.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"), graph.saved_tensors_hooks(id, id):
        pass


def raw_saved_tensors_of_a_function(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    node = F.apply(t.ones(1, requires_grad=True)).grad_fn
    return len(node._raw_saved_tensors), type(node._raw_saved_tensors[0]).__name__


def a_saved_tensor_made_by_hand(t: Any) -> Any:
    return t._C._autograd.SavedTensor()


def _reentrant(t: Any, depth: int) -> Any:
    class Deep(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with t.enable_grad():
                ctx.x = (x.detach() - 1).requires_grad_()
            return ctx.x.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.x.item() <= 0:
                return g
            with t.enable_grad():
                Deep.apply(ctx.x).sum().backward()
            return g

    x = t.tensor([float(depth)], requires_grad=True)
    Deep.apply(x).sum().backward()
    return x.grad


def a_backward_in_a_backward(t: Any) -> Any:
    return _reentrant(t, 3)


def a_hundred_backwards_in_each_other(t: Any) -> Any:
    return _reentrant(t, 100)


def a_thousand_backwards_in_each_other(t: Any) -> Any:
    return _reentrant(t, 1000)


def an_error_in_a_backward_in_a_backward(t: Any) -> Any:
    class Broken(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise RuntimeError("inside")

    class Outer(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with t.enable_grad():
                Broken.apply(t.ones(1, requires_grad=True)).sum().backward()
            return g

    Outer.apply(t.ones(1, requires_grad=True)).sum().backward()


def a_callback_of_a_nested_backward(t: Any) -> Any:
    said: list[str] = []
    engine = t.autograd.Variable._execution_engine
    x, z = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)

    def inner(g: Any) -> None:
        engine.queue_callback(lambda: said.append("inner callback"))

    def outer(g: Any) -> None:
        engine.queue_callback(lambda: said.append("outer callback"))
        with t.enable_grad():
            w = z * 2
            w.register_hook(inner)
            w.sum().backward()
        said.append("nested done")

    x.register_hook(outer)
    (x * 1).sum().backward()
    return said


def backward_twice(t: Any) -> Any:
    y = (t.ones(1, requires_grad=True) ** 2).sum()
    y.backward()
    y.backward()


def the_node_of_the_running_pass(t: Any) -> Any:
    said: list[Any] = []
    x = t.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: said.append(t._C._current_autograd_node().name()))
    y.sum().backward()
    return said, t._C._current_autograd_node()


def the_number_of_the_running_pass(t: Any) -> Any:
    said: list[bool] = []
    x = t.ones(1, requires_grad=True)
    x.register_hook(lambda g: said.append(t._C._current_graph_task_id() >= 0))
    (x * 2).sum().backward()
    return said, t._C._current_graph_task_id()


def anomaly_mode_finds_nan(t: Any) -> Any:
    x = t.zeros(1, requires_grad=True)
    with t.autograd.detect_anomaly():
        (x.sqrt() * 0).sum().backward()


def anomaly_mode_without_looking_for_nan(t: Any) -> Any:
    x = t.zeros(1, requires_grad=True)
    with t.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
    return x.grad


def anomaly_mode_with_a_function(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    with t.autograd.set_detect_anomaly(True):
        F.apply(t.ones(1, requires_grad=True)).sum().backward()


def _told(t: Any, function: Any) -> Any:
    """What anomaly mode's warnings say: their first sentences."""
    import warnings

    with warnings.catch_warnings(record=True) as heard, t.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        try:
            function()
        except RuntimeError as error:
            return str(error), [str(w.message).partition(". ")[0] for w in heard]
    return [str(w.message) for w in heard]


def anomaly_mode_names_the_forward_call(t: Any) -> Any:
    def f() -> None:
        (t.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()

    return _told(t, f)


def anomaly_mode_in_a_second_derivative(t: Any) -> Any:
    class Inner(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    class Outer(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Inner.apply(g)

    def f() -> None:
        x = t.ones(1, requires_grad=True)
        (g,) = t.autograd.grad(Outer.apply(x) ** 2, x, create_graph=True)
        g.sum().backward()

    return _told(t, f)


def anomaly_mode_of_a_nested_backward(t: Any) -> Any:
    class Outer(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with t.enable_grad():
                (t.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()
            return g

    return _told(t, lambda: Outer.apply(t.ones(1, requires_grad=True)).sum().backward())


def anomaly_mode_is_told(t: Any) -> Any:
    with t.autograd.set_detect_anomaly(True, check_nan=False):
        return t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()


def a_backward_hook_on_a_tensor_removed_in_a_hook(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []
    x = t.ones(1, requires_grad=True)

    def first(g: Any) -> None:
        said.append("first")
        handles[1].remove()

    handles.append(x.register_hook(first))
    handles.append(x.register_hook(lambda g: said.append("second")))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return said


def a_backward_hook_on_all_modules_that_removes_itself(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []

    def first(*_: Any) -> None:
        said.append("first")
        handles[0].remove()

    g = _global(t)
    handles.append(g.register_module_full_backward_hook(first))
    handles.append(g.register_module_full_backward_hook(lambda *_: said.append("second")))
    try:
        layer = t.nn.Linear(1, 1)
        for _ in range(2):
            layer(t.ones(1, 1, requires_grad=True)).sum().backward()
    finally:
        handles[1].remove()
    return said


def a_backward_hook_on_all_modules_removed_between_the_passes(t: Any) -> Any:
    said: list[str] = []
    handle = _global(t).register_module_full_backward_hook(lambda *_: said.append("called"))
    y = t.nn.Linear(1, 1)(t.ones(1, 1, requires_grad=True)).sum()
    handle.remove()
    y.backward()
    return said


def a_hook_on_all_parameters_that_removes_itself(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []

    def told(module: Any, name: str, parameter: Any) -> None:
        said.append(name)
        handles[0].remove()

    handles.append(_global(t).register_module_parameter_registration_hook(told))
    t.nn.Linear(1, 1)
    return said


def hooks_on_all_modules_removed_by_a_module(t: Any) -> Any:
    said: list[str] = []
    handles: list[Any] = []

    class Removing(t.nn.Module):
        def forward(self, x: Any) -> Any:
            handles[0].remove()
            return x

    handles.append(_global(t).register_module_forward_hook(lambda *_: said.append("called")))
    Removing()(t.ones(1))
    return said


def an_engine_callback_of_grad(t: Any) -> Any:
    said: list[str] = []
    engine = t.autograd.Variable._execution_engine
    x = t.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: said.append("callback")))
    t.autograd.grad(y.sum(), x)
    return said


def engine_callbacks_in_order(t: Any) -> Any:
    said: list[int] = []
    engine = t.autograd.Variable._execution_engine
    x = t.ones(1, requires_grad=True)

    def hook(g: Any) -> None:
        for i in range(3):
            engine.queue_callback(lambda i=i: said.append(i))

    x.register_hook(hook)
    (x * 2).sum().backward()
    return said


def an_engine_callback_sees_the_grad_mode(t: Any) -> Any:
    said: list[bool] = []
    engine = t.autograd.Variable._execution_engine
    x = t.ones(1, requires_grad=True)
    x.register_hook(lambda g: engine.queue_callback(lambda: said.append(t.is_grad_enabled())))
    (x * 2).sum().backward()
    return said


def anomaly_mode_in_a_hook(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * float("nan"))
    return _told(t, lambda: y.sum().backward())


def anomaly_mode_of_grad(t: Any) -> Any:
    x = t.zeros(1, requires_grad=True)
    return _told(t, lambda: t.autograd.grad((x.sqrt() * 0).sum(), x))


def anomaly_mode_switched_on_after_the_forward_pass(t: Any) -> Any:
    y = (t.zeros(1, requires_grad=True).sqrt() * 0).sum()
    return _told(t, y.backward)


def anomaly_mode_as_a_function(t: Any) -> Any:
    before = t.is_anomaly_enabled()
    t.autograd.set_detect_anomaly(True)
    inside = t.is_anomaly_enabled()
    t.autograd.set_detect_anomaly(False)
    return before, inside, t.is_anomaly_enabled()


def a_backward_in_a_hook(t: Any) -> Any:
    x, z = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)

    def hook(g: Any) -> None:
        with t.enable_grad():
            (z * 5).sum().backward()

    x.register_hook(hook)
    (x * 2).sum().backward()
    return x.grad, z.grad


def a_backward_of_the_same_leaf_in_a_backward(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with t.enable_grad():
                (x * 7).sum().backward()
            return g * 2

    F.apply(x).sum().backward()
    return x.grad


def a_graph_freed_by_a_backward_in_a_backward(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)
    inner = (x**2).sum()

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            inner.backward()
            return g * 2

    F.apply(x).sum().backward()
    inner.backward()


def a_raw_saved_tensor_of_no_such_name(t: Any) -> Any:
    return t.ones(1, requires_grad=True).exp().grad_fn._raw_saved_other


def hooks_of_a_saved_tensor_that_are_no_functions(t: Any) -> Any:
    y = t.tensor([2.0], requires_grad=True) ** 2
    y.grad_fn._raw_saved_self.register_hooks(1, 2)


def a_pack_hook_of_a_saved_tensor_that_writes(t: Any) -> Any:
    y = (t.tensor([2.0], requires_grad=True) * 1) ** 2
    y.grad_fn._raw_saved_self.register_hooks(lambda v: v.mul_(2), lambda v: v)


def an_unpack_hook_that_raises(t: Any) -> Any:
    def broken(v: Any) -> Any:
        raise KeyError("unpack")

    y = t.tensor([2.0], requires_grad=True) ** 2
    y.grad_fn._raw_saved_self.register_hooks(lambda v: v, broken)
    y.sum().backward()


def saved_tensors_of_a_function_with_hooks(t: Any) -> Any:
    said: list[str] = []

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    x = t.tensor([3.0], requires_grad=True)
    y = F.apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(
        lambda v: said.append("pack") or v, lambda v: said.append("unpack") or v * 10
    )
    y.sum().backward()
    return said, x.grad


def a_node_that_is_called(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    product, ones = x * x, t.ones(2)
    leaf = product.grad_fn.next_functions[0][0]
    return (
        (x * 3).grad_fn(ones),
        product.grad_fn(ones)[0].detach(),
        product.grad_fn(None),
        product.grad_fn(t.ones(2, requires_grad=True))[0].requires_grad,
        (x * 2).sum().grad_fn(ones[0]),
        leaf(ones),
        x.grad,
    )


def a_node_that_is_called_with_too_many(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).grad_fn(x, x)


def a_node_that_is_called_with_a_number(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).grad_fn(2.0)


def no_zeros_for_what_is_not_differentiable(t: Any) -> Any:
    seen: list[Any] = []

    class F(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            index = x.clone()
            ctx.mark_non_differentiable(index)
            ctx._materialize_non_diff_grads = False
            return x.clone(), index, x * 2

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            seen.extend(gradients)
            return gradients[0]

    F.apply(t.tensor([1.0, 2.0], requires_grad=True))[0].sum().backward()
    return seen
