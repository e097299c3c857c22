"""autograd.functional and autograd.graph do what they do in PyTorch: one script, two libraries."""

# ruff: noqa: E501 - a script in one string reads better than one broken at the margin

import pytest
from oracle import compare

real = pytest.importorskip("torch")

START = """
F = torch.autograd.functional
x = torch.tensor([1., -2., 3.])
y = torch.tensor([0.5, 2., -1.])
W = torch.tensor([[1., 2., 3.], [-1., 0.5, 2.]]) / 10  # tanh far from 1, where 1 - tanh² is inexact
def vector(x): return (W @ x).tanh() * x[0]
def two(x, y): return x * y.sum(), (x ** 2).sum()
def scalar(x): return (x ** 3).sum() + x[0] * x[1]
def scalar2(x, y): return (x ** 2 * y).sum()
def constant(x): return torch.ones(2)
def partly(x, y): return x * 2
"""
SCRIPTS = {
    "jacobian": "F.jacobian(vector, x)",
    "jacobian of tuples": "F.jacobian(two, (x, y))",
    "jacobian vectorized": "F.jacobian(vector, x, vectorize=True)",
    "jacobian of a constant": "F.jacobian(constant, x)",
    "jacobian strict": "F.jacobian(constant, x, strict=True)",
    "jacobian strict, one input": "F.jacobian(partly, (x, y), strict=True)",
    "jacobian of a matrix": "F.jacobian(lambda w: w @ x, W)",
    "jacobian differentiated": "torch.autograd.grad(F.jacobian(vector, x.requires_grad_(), create_graph=True).sum(), x)",
    "jacobian, strategy": "F.jacobian(vector, x, strategy='forward-mode')",
    "jacobian, no such strategy": "F.jacobian(vector, x, strategy='sideways')",
    "jacobian of a number": "F.jacobian(vector, 3.)",
    "jacobian with a number out": "F.jacobian(lambda x: 3., x)",
    "results are detached": "F.jacobian(vector, x.requires_grad_()).requires_grad",
    "hessian": "F.hessian(scalar, x)",
    "hessian of tuples": "F.hessian(scalar2, (x, y))",
    "hessian of a vector": "F.hessian(vector, x)",
    "hessian differentiated": "torch.autograd.grad(F.hessian(scalar, x.requires_grad_(), create_graph=True).sum(), x)",
    "vjp": "F.vjp(vector, x, torch.tensor([1., 2.]))",
    "vjp of a scalar": "F.vjp(scalar, x)",
    "vjp without v": "F.vjp(vector, x)",
    "vjp, v of another size": "F.vjp(vector, x, torch.ones(3))",
    "vjp of tuples": "F.vjp(two, (x, y), (torch.ones(3), torch.tensor(2.)))",
    "vjp strict": "F.vjp(constant, x, torch.ones(2), strict=True)",
    "vjp of a constant": "F.vjp(constant, x, torch.ones(2))",
    "jvp": "F.jvp(vector, x, y)",
    "jvp of tuples": "F.jvp(two, (x, y), (y, x))",
    "jvp of a constant": "F.jvp(constant, x, y)",
    "jvp differentiated": "torch.autograd.grad(F.jvp(vector, x.requires_grad_(), y, create_graph=True)[1].sum(), x)",
    "jvp without v": "F.jvp(vector, x)",
    "vhp": "F.vhp(scalar, x, y)",
    "hvp": "F.hvp(scalar, x, y)",
    "hvp of tuples": "F.hvp(scalar2, (x, y), (y, x))",
    "vhp of tuples": "F.vhp(scalar2, (x, y), (y, x))",
    "hvp of a vector": "F.hvp(vector, x, y)",
    "hvp of a linear function": "F.hvp(lambda x: x.sum(), x, y)",
    "vhp of a linear function": "F.vhp(lambda x: x.sum(), x, y)",
    "batched": "x.requires_grad_(); torch.autograd.grad(vector(x), x, torch.eye(2), is_grads_batched=True)",
    "batched, unused": "x.requires_grad_(); y.requires_grad_(); torch.autograd.grad(vector(x), [x, y], torch.eye(2), is_grads_batched=True, allow_unused=True)",
    "edge": "x.requires_grad_(); z = x * 2; e = torch.autograd.graph.get_gradient_edge(z); (e.node is z.grad_fn, e.output_nr)",
    "edge of a leaf": "x.requires_grad_(); torch.autograd.graph.get_gradient_edge(x).node.name()",
    "edge without grad": "torch.autograd.graph.get_gradient_edge(x)",
    "edge as input of grad": "x.requires_grad_(); z = x * 2; e = torch.autograd.graph.get_gradient_edge(z); torch.autograd.grad((z * z).sum(), [e, x])",
    "edge as root": "x.requires_grad_(); z = x * x; e = torch.autograd.graph.get_gradient_edge(z); torch.autograd.grad(e, x, torch.ones(3))",
    "jacobian, recorded, of an input without grad": "j = F.jacobian(vector, x, create_graph=True); (j, j.requires_grad)",
    "jacobian, recorded, vectorized": "j = F.jacobian(vector, x, create_graph=True, vectorize=True); (j, j.requires_grad)",
    "jacobian, recorded, one input with grad": "F.jacobian(two, (x.requires_grad_(), y), create_graph=True)",
    "jacobian of a number's shape, vectorized": "F.jacobian(lambda x: (x.exp(), x.expand(2)), torch.tensor(2.), vectorize=True)",
    "jacobian strict, vectorized": "F.jacobian(vector, x, strict=True, vectorize=True)",
    "jacobian strict, recorded, linear": "F.jacobian(lambda x: x * 2, x, strict=True, create_graph=True)",
    "hessian, recorded, of an input without grad": "h = F.hessian(scalar, x, create_graph=True); (h, h.requires_grad)",
    "hessian, recorded, in no_grad": "g = torch.no_grad(); g.__enter__(); h = F.hessian(scalar, x, create_graph=True); g.__exit__(None, None, None); (h, h.requires_grad)",
    "hessian within a function": "torch.autograd.grad(F.hessian(scalar2, (x.requires_grad_().cos(), y), create_graph=True)[0][1].sum(), x)",
    "hessian strict, linear": "F.hessian(lambda x: x.sum(), x, strict=True)",
    "hessian strict, separate": "F.hessian(lambda x, y: (x ** 3).sum() + (y ** 3).sum(), (x, y), strict=True)",
    "hessian strict, constant": "F.hessian(lambda x: torch.ones(()), x, strict=True)",
    "hvp, recorded": "h = F.hvp(scalar, x, y, create_graph=True)[1]; (h, h.requires_grad)",
    "hvp strict, linear": "F.hvp(lambda x: x.sum(), x, y, strict=True)",
    "vhp, recorded": "h = F.vhp(scalar, x, y, create_graph=True)[1]; (h, h.requires_grad)",
    "vhp strict, linear in one": "F.vhp(lambda x, y: (x ** 3).sum() + y.sum(), (x, y), (x, y), strict=True)",
    "vjp, recorded": "v = F.vjp(vector, x, torch.ones(2), create_graph=True)[1]; (v, v.requires_grad)",
    "jvp, recorded": "v = F.jvp(vector, x, y, create_graph=True)[1]; (v, v.requires_grad)",
    "jvp strict, recorded, linear": "F.jvp(lambda x: x * 2, x, y, strict=True, create_graph=True)",
    "jvp strict, recorded": "F.jvp(vector, x, y, strict=True, create_graph=True)[1]",
    "batched, of another shape": "torch.autograd.grad(x.requires_grad_() * 2, x, torch.ones(3), is_grads_batched=True)",
    "edge of a scalar as root": "x.requires_grad_(); torch.autograd.grad(torch.autograd.graph.get_gradient_edge((x * x).sum()), x)",
    "edge as root without gradient": "x.requires_grad_(); torch.autograd.grad(torch.autograd.graph.get_gradient_edge(x * x), x)",
    "edge as root, gradient of another shape": "x.requires_grad_(); torch.autograd.grad(torch.autograd.graph.get_gradient_edge((x * x).sum()), x, torch.ones(4))",
    "edge as root, gradient of another dtype": "x.requires_grad_(); torch.autograd.grad(torch.autograd.graph.get_gradient_edge((x * x).sum()), x, torch.ones((), dtype=torch.complex64))",
    "edge, unused, materialized": "x.requires_grad_(); y.requires_grad_(); torch.autograd.grad(x.sum(), (x, torch.autograd.graph.get_gradient_edge(y)), allow_unused=True, materialize_grads=True)",
    "version": "v = x._version; torch.autograd.graph.increment_version(x); x._version - v",
    "all gradients": "x.requires_grad_(); y.requires_grad_(); r = []; u = x * 2; torch.autograd.graph.register_multi_grad_hook((u, y), lambda g: r.append([t if t is None else t.tolist() for t in g])); (u * y).sum().backward(); u = x * 2; (y * 3).sum().backward(); r",
    "any gradient": "x.requires_grad_(); y.requires_grad_(); r = []; torch.autograd.graph.register_multi_grad_hook((x, y), lambda g: r.append(1), mode='any'); (x * y).sum().backward(); (y * 3).sum().backward(); r",
    "multi hook removed": "x.requires_grad_(); r = []; h = torch.autograd.graph.register_multi_grad_hook((x,), lambda g: r.append(1)); h.remove(); x.sum().backward(); r",
    "multi hook, no such mode": "x.requires_grad_(); torch.autograd.graph.register_multi_grad_hook((x,), print, mode='some')",
}


def run(library, script):
    *before, last = script.split("; ")
    env = {"torch": library}
    exec("\n".join([START, *before, f"r_ = {last}"]), env)
    return env["r_"]


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_as_pytorch_does(script):
    compare(lambda library: run(library, script), words=0)
