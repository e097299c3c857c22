"""Autograd's rules and errors as PyTorch has them: one script, two libraries, the same outcome.

Each script leaves its result in ``r`` or raises. Compared are the exception's type and the first
words of its message, or the result: numbers, strings, shapes and tensors' values.
"""

# ruff: noqa: E501 - a script in one string reads better than one broken at the margin

import pytest
from oracle import Raised, compare, refused

real = pytest.importorskip("torch")

X = "x = torch.tensor([1., 2., 3.], requires_grad=True)\n"
FUNCTION = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {arguments}):
        {forward}
    @staticmethod
    def backward(ctx, *g):
        {backward}
"""


def function(forward: str, backward: str, arguments: str = "x") -> str:
    return X + FUNCTION.format(arguments=arguments, forward=forward, backward=backward)


ERRORS = {
    "non-scalar root": X + "(x * 2).backward()",
    "root without history": X + "torch.ones(3).sum().backward()",
    "second backward": X + "y = (x * x).sum()\ny.backward()\ny.backward()",
    "second grad": X + "y = x.tanh().sum()\ntorch.autograd.grad(y, x)\ntorch.autograd.grad(y, x)",
    "unused input": X + "torch.autograd.grad(x.sum(), torch.ones(2, requires_grad=True))",
    "input without grad": X + "torch.autograd.grad(x.sum(), torch.ones(2))",
    "no inputs": X + "torch.autograd.grad(x.sum(), [])",
    "gradient of another shape": X + "(x * 2).backward(torch.ones(2))",
    "gradient of another type": X + "(x * 2).backward(3)",
    "more roots than gradients": X + "torch.autograd.backward([x.sum(), x.sum()], [None])",
    "integer that requires grad": "torch.ones(2, dtype=torch.int64, requires_grad=True)",
    "requires_grad_ of integers": "torch.ones(2, dtype=torch.int64).requires_grad_()",
    "requires_grad_(False) of a result": X + "(x * 2).requires_grad_(False)",
    "requires_grad = False of a result": X + "y = x * 2\ny.requires_grad = False",
    "leaf in place": X + "x.add_(1)",
    "leaf in place by operator": X + "x *= 2",
    "leaf filled": X + "x.zero_()",
    "view of a leaf in place": X + "x[0] = 1",
    "view of a leaf in place, values": X + "x[:2].copy_(torch.ones(2))",
    "view of a leaf in place, mask": X + "x[torch.tensor([True, False, True])] = 1.",
    "one of several views": X + "y = x * 2\na, b, c = y.unbind()\na.add_(1)",
    "one chunk": X + "y = x * 2\na, b = y.chunk(2)\na.mul_(2)",
    "one of several views after its base": X + "y = x * 2\na, b = y.chunk(2)\ny.mul_(2)\na.sum()",
    "view made under no_grad": X + "y = x * 2\nwith torch.no_grad():\n    v = y[0]\nv.mul_(2)",
    "detach_ of a view": X + "(x * 2)[0].detach_()",
    "numpy of what requires grad": X + "x.numpy()",
    "backward with no inputs": X + "x.sum().backward(inputs=[])",
    "grad of another shape": X + "x.grad = torch.ones(2)",
    "grad of another dtype": X + "x.grad = torch.ones(3, dtype=torch.float64)",
    "grad that is no tensor": X + "x.grad = 3",
    "grad that is the tensor": X + "x.grad = x",
    "hook without grad": "torch.ones(2).register_hook(lambda g: g)",
    "retain_grad without grad": "torch.ones(2).retain_grad()",
    "post-accumulate hook of a result": X + "(x * 2).register_post_accumulate_grad_hook(print)",
    "hook that gives no tensor": X + "x.register_hook(lambda g: 3)\nx.sum().backward()",
    "hook that changes the size": X
    + "x.register_hook(lambda g: torch.ones(2))\nx.sum().backward()",
    "deepcopy of a result": X + "import copy\ncopy.deepcopy(x * 2)",
    "out= with grad": X + "torch.add(x, x, out=torch.empty(3))",
    "inference tensor that requires grad": "with torch.inference_mode():\n    y = torch.ones(3)\ny.requires_grad_()",
    "inference tensor in place": "with torch.inference_mode():\n    y = torch.ones(3)\ny.add_(1)",
    "expanded memory in place": "torch.ones(2).expand(3, 2).add_(1)",
    "partly overlapping memory": "x = torch.ones(4)\nx[1:].add_(x[:-1])",
    "transposed onto itself": "x = torch.ones(2, 2)\nx.copy_(x.t())",
    "index put of itself": "x = torch.ones(2, 2)\nx[torch.tensor([0, 1])] = x",
    "transpose_ of a leaf": "x = torch.ones(2, 3, requires_grad=True)\nx.transpose_(0, 1)",
    "complex root": "torch.ones((), dtype=torch.complex64, requires_grad=True).mul(1).backward()",
    "view of a plain base, made a leaf and moved into the graph": X
    + "b = torch.zeros(4)\nv = b[:2]\nv.requires_grad_()\nb[2:].add_(v * 2)\n(b.sum() + v.sum()).backward()",
    "function: too few gradients": function("return x * n", "return g[0]", "x, n")
    + "F.apply(x, 2).sum().backward()",
    "function: gradient of another shape": function("return x * 2", "return torch.ones(2)")
    + "F.apply(x).sum().backward()",
    "function: gradient that is no tensor": function("return x * 2", "return 'no'")
    + "F.apply(x).sum().backward()",
    "function: second backward": function(
        "ctx.save_for_backward(x); return x * 2", "return ctx.saved_tensors[0] * g[0]"
    )
    + "y = F.apply(x).sum()\ny.backward()\ny.backward()",
    "function: saved what is no tensor": function(
        "ctx.save_for_backward(3); return x * 2", "return g[0]"
    )
    + "F.apply(x)",
    "function: dirty leaf": function("ctx.mark_dirty(x); x.mul_(2); return x", "return g[0]")
    + "F.apply(x)",
    "function: no forward": X + "class F(torch.autograd.Function): pass\nF.apply(x)",
    "function: no backward": X
    + "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return x * 2\nF.apply(x).sum().backward()",
    "function: differentiated twice": X
    + "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.save_for_backward(x)\n        return x * x\n    @staticmethod\n"
    "    @torch.autograd.function.once_differentiable\n    def backward(ctx, g):\n"
    "        return 2 * ctx.saved_tensors[0] * g\n"
    "y = x.detach().requires_grad_()\n"
    "g, = torch.autograd.grad((F.apply(x) * y).sum(), x, create_graph=True)\ng.sum().backward()",
}

RESULTS = {
    "gradient accumulates": X + "x.sum().backward()\n(x * x).sum().backward()\nr = x.grad",
    "retain_graph": X
    + "y = (x * x).sum()\ny.backward(retain_graph=True)\ny.backward()\nr = x.grad",
    "nothing saved, twice": X + "y = x.sum()\ny.backward()\ny.backward()\nr = x.grad",
    "several roots": X
    + "torch.autograd.backward([x.sum(), x * x], [None, torch.ones(3)])\nr = x.grad",
    "inputs of backward": X + "y = x * 2\n(y * y).sum().backward(inputs=[y])\nr = y.grad, x.grad",
    "inputs, leaf too": X + "y = x * 2\n(y * y).sum().backward(inputs=[y, x])\nr = y.grad, x.grad",
    "allow_unused": X + "r = torch.autograd.grad(x.sum(), [x, torch.ones(1, requires_grad=True)],"
    " allow_unused=True)",
    "grad for a view made under no_grad": X + "with torch.no_grad():\n    v = x[:2]\n"
    "r = torch.autograd.grad((v * x[:2]).sum(), [v, x], allow_unused=True)",
    "backward for a view made under no_grad": X
    + "with torch.no_grad():\n    v = x[:2]\n(x * x).sum().backward(inputs=[v])\nr = x.grad",
    "materialized gradients have a layout": X + "y = torch.ones(3, 2, requires_grad=True).t()\n"
    "g, = torch.autograd.grad(x.sum(), [y], materialize_grads=True, create_graph=True)\nr = g, g.requires_grad, g.stride()",
    "requires_grad_ of a view that may not be read": X
    + "b = torch.zeros(3)\nv, w = b.chunk(2)\nb[-1] = x[0]\nr = w.requires_grad_().requires_grad",
    "materialize_grads": X + "r = torch.autograd.grad(x.sum(), [torch.ones(2, requires_grad=True)],"
    " materialize_grads=True)",
    "grad leaves leaves alone": X + "torch.autograd.grad(x.sum(), x)\nr = x.grad",
    "grad of an inner value": X + "y = x * 2\nr = torch.autograd.grad((y * y).sum(), [y, x])",
    "triple backward": X + "y = (x ** 4).sum()\n"
    "for _ in range(3):\n    y, = torch.autograd.grad(y, x, create_graph=True)\n    y = y.sum()\n"
    "r = y, torch.autograd.grad(y, x)",
    "backward with create_graph": X
    + "(x ** 3).sum().backward(create_graph=True)\ng = x.grad\nx.grad = None\n"
    "g.sum().backward()\nr = x.grad, g.requires_grad",
    "hooks in order": X + "y = x * 2\nr = []\ny.register_hook(lambda g: r.append('a'))\n"
    "y.grad_fn.register_prehook(lambda g: r.append('pre'))\n"
    "y.grad_fn.register_hook(lambda a, b: r.append('post'))\n"
    "y.register_hook(lambda g: r.append('b'))\n"
    "x.register_hook(lambda g: r.append('leaf'))\n"
    "x.register_post_accumulate_grad_hook(lambda t: r.append('accumulated'))\n"
    "y.sum().backward()",
    "hook changes the gradient": X
    + "y = x * 2\ny.register_hook(lambda g: g * 10)\ny.sum().backward()\nr = x.grad",
    "hooks chain": X + "x.register_hook(lambda g: g + 1)\nx.register_hook(lambda g: g * 2)\n"
    "x.sum().backward()\nr = x.grad",
    "hook removed": X
    + "h = x.register_hook(lambda g: g * 5)\nh.remove()\nx.sum().backward()\nr = x.grad",
    "hook of a leaf over two graphs": X
    + "x.register_hook(lambda g: g * 2)\nx.sum().backward()\nx.sum().backward()\nr = x.grad",
    "hook and autograd.grad": X
    + "y = x * 2\ny.register_hook(lambda g: g * 2)\nr = torch.autograd.grad(y.sum(), x)",
    "retain_grad": X + "y = x * 2\ny.retain_grad()\n(y * y).sum().backward()\nr = y.grad, x.grad",
    "retain_grad sees hooks": X
    + "y = x * 2\ny.retain_grad()\ny.register_hook(lambda g: g * 2)\ny.sum().backward()\n"
    "r = y.grad, x.grad",
    "retain_grad over in-place": X
    + "y = x * 2\ny.register_hook(lambda g: g * 2)\ny.retain_grad()\ny.mul_(5)\n"
    "y.register_hook(lambda g: g * 3)\ny.sum().backward()\nr = y.grad, x.grad, y.retains_grad",
    "retain_grad of a leaf": X + "x.retain_grad()\nx.sum().backward()\nr = x.grad, x.retains_grad",
    "retain_grad accumulates": X
    + "y = x * 2\ny.retain_grad()\ns = (y * 3).sum()\ns.backward(retain_graph=True)\n"
    "s.backward()\nr = y.grad",
    "overwritten part": X + "y = x * 2\ny[1] = 7.\ny.sum().backward()\nr = y, x.grad",
    "overwritten by a value with grad": X
    + "w = torch.tensor(5., requires_grad=True)\ny = x * 2\ny[1] = w\n(y * y).sum().backward()\n"
    "r = x.grad, w.grad",
    "overwritten through a view of a view": X
    + "y = (x * 2).view(3, 1)\nv = y.t()[:, 1:]\nv.mul_(x[1:])\n(y * y).sum().backward()\n"
    "r = y, v, x.grad",
    "base written, view read": X
    + "y = x * 2\nv = y[1:]\ny.mul_(3)\n(v * v).sum().backward()\nr = v, x.grad",
    "view of a buffer written": X
    + "b = torch.zeros(3)\nv = b[1:]\nv.copy_(x[1:] * 2)\n(b * b).sum().backward()\n"
    "r = b, v.requires_grad, b.requires_grad, x.grad",
    "row by row": X
    + "b = torch.zeros(3, 3)\nfor i in range(3):\n    b[i] = x * i\n(b * b).sum().backward()\n"
    "r = b, x.grad",
    "zero_ stops the gradient": X
    + "y = x * 2\ny.zero_()\ny.sum().backward()\nr = x.grad, y.requires_grad",
    "copy_ of a constant": X + "y = x * 2\ny.copy_(torch.ones(3))\ny.sum().backward()\nr = x.grad",
    "fill with a number by index": X + "y = x * 2\ny[...] = 3.\ny.sum().backward()\nr = x.grad",
    "detach shares memory": X + "y = x * 2\nd = y.detach()\nd[0] = 9.\nr = y, d.requires_grad",
    "data shares memory": X + "x.data[0] = 9.\nr = x, x.is_leaf",
    "in place on a leaf under no_grad": X
    + "with torch.no_grad():\n    x.add_(1)\n(x * x).sum().backward()\nr = x, x.grad, x.is_leaf",
    "requires_grad_ reaches views": "x = torch.ones(3)\nv = x[0]\nx.requires_grad_()\nr = v.requires_grad, v.is_leaf",
    "views made under no_grad": X
    + "with torch.no_grad():\n    v = x[0]\nr = v.requires_grad, v.is_leaf, v.grad_fn",
    "grad mode as decorator": X
    + "@torch.no_grad()\ndef f(x):\n    return x * 2\nr = f(x).requires_grad, f.__name__",
    "grad mode without brackets": X
    + "@torch.no_grad\ndef f(x):\n    return x * 2\nr = f(x).requires_grad",
    "grad mode around a generator": X
    + "@torch.no_grad()\ndef f(x):\n    got = yield x * 2\n    yield got * 2\n"
    "g = f(x)\na = next(g)\nb = g.send(x)\nr = a.requires_grad, b.requires_grad, torch.is_grad_enabled()",
    "grad modes nested": X + "r = []\nwith torch.no_grad():\n    with torch.enable_grad():\n"
    "        r.append((x * 2).requires_grad)\n    r.append((x * 2).requires_grad)\n"
    "r.append(torch.is_grad_enabled())",
    "set_grad_enabled": X + "torch.set_grad_enabled(False)\nr = (x * 2).requires_grad\n"
    "torch.set_grad_enabled(True)\nwith torch.set_grad_enabled(False):\n"
    "    r = r, (x * 2).requires_grad\nr = r, torch.is_grad_enabled()",
    "grad mode after an exception": X
    + "try:\n    with torch.no_grad():\n        raise ValueError\nexcept ValueError:\n    pass\n"
    "r = torch.is_grad_enabled()",
    "inference mode": X
    + "with torch.inference_mode():\n    y = x * 2\nr = y.requires_grad, y.is_inference()",
    "numpy under no_grad": X + "with torch.no_grad():\n    r = x.numpy().tolist()",
    "function": function("ctx.n = n; return x * n", "return g[0] * ctx.n, None", "x, n")
    + "y = F.apply(x, 3)\ny.sum().backward()\nr = x.grad, y.grad_fn.name()",
    "function: needs_input_grad": function(
        "return x * n", "ctx.seen = 1; r.append(ctx.needs_input_grad); return g[0], None", "x, n"
    )
    + "r = []\nF.apply(x, 3).sum().backward()",
    "function: saved output": function(
        "y = x.exp(); ctx.save_for_backward(y); return y", "return ctx.saved_tensors[0] * g[0]"
    )
    + "g, = torch.autograd.grad(F.apply(x).sum(), x, create_graph=True)\ng.sum().backward()\nr = g, x.grad",
    "function: double backward": function(
        "ctx.save_for_backward(x); return x ** 3",
        "x, = ctx.saved_tensors; return 3 * x ** 2 * g[0]",
    )
    + "g, = torch.autograd.grad(F.apply(x).sum(), x, create_graph=True)\ng.sum().backward()\nr = g, x.grad",
    "function: other outputs": function("return x * 1, 'text', x * 2", "return g[0] + g[2]")
    + "y = F.apply(x)\ny[2].sum().backward()\nr = y[1], x.grad",
    "function: returns its input": function("return x", "return g[0] * 5")
    + "y = F.apply(x)\ny.sum().backward()\n"
    "r = y is x, y.grad_fn.name(), x.grad",
    "function: mark_dirty": function("ctx.mark_dirty(x); x.mul_(2); return x", "return g[0] * 2")
    + "y = x * 1\nz = F.apply(y)\nz.sum().backward()\nr = z is y, y, y.grad_fn.name(), x.grad",
    "function: non-differentiable": function(
        "y = x > 1.5; z = x * 1; ctx.mark_non_differentiable(z); return x * 2, z, y", "return g[0]"
    )
    + "a, b, c = F.apply(x)\na.sum().backward()\nr = a.requires_grad, b.requires_grad, c, x.grad",
    "function: no materialized gradients": function(
        "ctx.set_materialize_grads(False); return x * 1, x * 2",
        "r.append(g[0] is None); return g[1]",
    )
    + "r = []\nF.apply(x)[1].sum().backward()",
    "function: materialized gradients": function(
        "return x * 1, x * 2", "r.append(g[0]); return g[1]"
    )
    + "r = []\nF.apply(x)[1].sum().backward()",
    "function: None for a gradient": function("return x * 2", "return None")
    + "F.apply(x).sum().backward()\nr = x.grad",
    "function: setup_context": X
    + "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(x, n):\n"
    "        return x * n\n    @staticmethod\n    def setup_context(ctx, inputs, output):\n"
    "        ctx.n = inputs[1]\n    @staticmethod\n    def backward(ctx, g):\n"
    "        return g * ctx.n, None\nF.apply(x, 4).sum().backward()\nr = x.grad",
    "function: under no_grad": function("return x * 2", "return g[0]")
    + "with torch.no_grad():\n    y = F.apply(x)\n"
    "r = y.requires_grad, y.grad_fn",
    "function: in-place inside is not recorded": function(
        "y = x * 2; y[0] = 5.; return y", "return g[0] * 2"
    )
    + "y = F.apply(x)\ny.sum().backward()\nr = y, x.grad",
    "next_functions": X + "y = (x * 2).sum()\nr = [f.name() for f, _ in y.grad_fn.next_functions]",
    "is_leaf": X + "r = x.is_leaf, (x * 2).is_leaf, x.detach().is_leaf, torch.ones(2).is_leaf",
    "transpose_ of a result": "x = torch.ones(2, 3, requires_grad=True)\ny = x * 2\nv = y[0]\ny.transpose_(0, 1)\n"
    "y.mul_(torch.tensor([1., 5.]))\n(v * v).sum().backward()\nr = y, v, x.grad",
    "unsqueeze_ and squeeze_ of a view": X
    + "y = x * 2\nv = y[1:]\nv.unsqueeze_(0)\nv.mul_(3)\nv.squeeze_()\ny.sum().backward()\n"
    "r = y, v, x.grad",
    "reshape that copies": "x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)\ny = x.t().reshape(4)\n"
    "y.mul_(2)\n(y * y).sum().backward()\nr = y, y.requires_grad, x.grad",
    "detach_ leaves earlier views alone": X
    + "y = x * 2\nv = y[0]\ny.detach_()\nv.backward()\nr = y.requires_grad, v.requires_grad, x.grad",
    "deepcopy shares storages": "import copy\nx = torch.ones(3)\na, b = copy.deepcopy([x, x[1:]])\n"
    "b.zero_()\nr = a, x",
    "deepcopy of grad": X
    + "import copy\nx.sum().backward()\ny = copy.deepcopy(x)\ny.grad.zero_()\n"
    "r = x.grad, y.grad, y.requires_grad",
    "pickle of a view": "import pickle\nx = torch.arange(6.).view(2, 3).t()\n"
    "y = pickle.loads(pickle.dumps(x))\nr = y, y.stride()",
}


def run(library, script):
    """What the script leaves in ``r``."""
    env = {"torch": library}
    try:
        exec(script, env)
    finally:
        library.set_grad_enabled(True)
    return env.get("r")


@pytest.mark.parametrize("script", ERRORS.values(), ids=ERRORS.keys())
def test_the_errors_users_know(script):
    refused(lambda library: run(library, script), words=40)


@pytest.mark.parametrize("script", RESULTS.values(), ids=RESULTS.keys())
def test_the_rules_users_rely_on(script):
    assert not isinstance(compare(lambda library: run(library, script)), Raised)
