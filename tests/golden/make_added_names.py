"""What names that a release of PyTorch added give, recorded of that release:

    python tests/golden/make_added_names.py torch > tests/golden/added_names.json

With "torchlike" for torch it prints what torchlike gives under whichever release it follows.
"""

import importlib
import json
import sys

GENERAL = [[3.0, 1.0], [-2.0, 0.5], [0.25, 4.0]]
POSITIVE = [[4.0, 9.0], [1.0, 3.0]]  # of which the lower triangle counts


def numbers(x):
    """Return a tensor as lists; a complex one as two."""
    return [x.real.tolist(), x.imag.tolist()] if x.is_complex() else x.tolist()


def derivatives(t, function, rows):
    """Return the values and both derivatives of a function of a matrix, real and complex."""
    found = []
    for factor in (1, 1 + 0.5j):
        dtype = t.float64 if factor == 1 else t.complex128
        x = (t.tensor(rows, dtype=dtype) * factor).requires_grad_()
        outs = function(x)
        outs = outs if isinstance(outs, tuple) else (outs,)
        weights = [t.arange(1.0, o.numel() + 1, dtype=t.float64).reshape(o.shape) for o in outs]
        pairs = [o * w for o, w in zip(outs, weights, strict=True)]
        total = sum(p.real.sum() + p.abs().sum() for p in pairs)
        (first,) = t.autograd.grad(total, x, create_graph=True)
        (second,) = t.autograd.grad(first.abs().square().sum(), x)
        found.append([numbers(v.detach()) for v in (*outs, first, second)])
    return found


def hermitian(t, x):
    return x @ x.mH + t.eye(2, dtype=x.dtype)


def lbfgs(t, search):
    x = t.tensor([1.0, -2.0], dtype=t.float64, requires_grad=True)
    optimizer = t.optim.LBFGS([x], lr=0.5, max_iter=4, line_search_fn=search, maximize=True)

    def closure():
        optimizer.zero_grad()
        loss = -((x - 3) ** 2).sum() - (x[0] * x[1]).cos()
        loss.backward()
        return loss

    return [optimizer.step(closure).item(), x.tolist()]


def given_dtypes(t, *declared):
    """Return in which dtypes a Function's backward gets its gradients."""
    seen = []

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_output_grad_dtype(*declared)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            seen.extend(str(g.dtype).rpartition(".")[2] for g in (first, second))
            return (first.double() + second.double()).bfloat16()

    x = t.ones(2, dtype=t.bfloat16, requires_grad=True)
    first, second = Twice.apply(x)
    (first * second).sum().backward()
    return [seen, x.grad.tolist()]


def nodes(t):
    """Return which hooks are told of which nodes, with how many inputs, in which order."""
    told = []
    hook = t.autograd.graph.node_creation_hook
    x = t.ones(2, requires_grad=True)
    with hook(lambda n: told.append(("outer", n.name(), len(n.next_functions)))):
        y = x * 2
        with hook(lambda n: told.append(("inner", n.name(), len(n.next_functions)))):
            z = y.exp()
        (y + z).sum().backward()
    z.sin()
    return told


def switches(t):
    switch = importlib.import_module(f"{t.__name__}._higher_order_ops").switch
    branches = (lambda x: x + 1, lambda x: x * 5, lambda x: x - 2)
    indices = (0, 2, -3, 7, t.tensor(1), t.tensor([9]))
    return [switch(i, branches, (t.ones(2),)).tolist() for i in indices]


def scans(t):
    scan = importlib.import_module(f"{t.__name__}._higher_order_ops").scan
    found = []
    for reverse in (False, True):
        carry, ys = scan(lambda c, x: (c * 2, c + 1), t.ones(2), None, length=3, reverse=reverse)
        found.append([carry.tolist(), ys.tolist()])
    return found


def checkpoints(t):
    x = t.tensor([0.5, 2.0], requires_grad=True)
    checkpoint = importlib.import_module(f"{t.__name__}.utils.checkpoint").checkpoint
    exp = checkpoint(use_reentrant=False, preserve_rng_state=False)(t.exp)
    exp(x).sum().backward()
    return [x.grad.tolist(), exp.__name__]


def refusals(t):
    """Return which errors raise what, for wrong arguments of the added names."""
    wrapped = t.utils.dlpack.ReadOnlyTensorWrapper(t.ones(2))
    switch = importlib.import_module(f"{t.__name__}._higher_order_ops").switch
    calls = [
        lambda: t.linalg.polar(t.ones(2, 3)),
        lambda: t.linalg.polar(t.ones(2, 2, dtype=t.int64)),
        lambda: t.linalg.matrix_sqrth(t.ones(2, 3)),
        lambda: t.linalg.matrix_sqrth(t.ones(2)),
        lambda: given_dtypes(t, None),
        lambda: given_dtypes(t, None, "float32"),
        lambda: wrapped + 1,
        lambda: wrapped.shape,
        lambda: t.ones(2).__dlpack__(read_only=True),
        lambda: switch("a", (abs,), ()),
        lambda: switch(0, (), ()),
        lambda: switch(0, (3,), ()),
    ]
    found = []
    for call in calls:
        try:
            call()
        except Exception as error:
            found.append([type(error).__name__, str(error)])
    return found


def probes(t):
    """Return name -> what it gives."""
    return {
        "linalg.polar": derivatives(t, t.linalg.polar, GENERAL),
        "linalg.matrix_sqrth": [
            t.linalg.matrix_sqrth(t.tensor(POSITIVE)).tolist(),
            t.linalg.matrix_sqrth(-t.eye(2)).tolist(),
            *derivatives(t, lambda x: t.linalg.matrix_sqrth(hermitian(t, x[:2])), GENERAL),
        ],
        "optim.LBFGS": [lbfgs(t, search) for search in (None, "strong_wolfe")],
        "autograd.function.FunctionCtx.set_output_grad_dtype": given_dtypes(t, t.float32, None),
        "autograd.graph.node_creation_hook": nodes(t),
        "_higher_order_ops.switch": switches(t),
        "_higher_order_ops.scan": scans(t),
        "utils.checkpoint.checkpoint": checkpoints(t),
        "refusals": refusals(t),
    }


if __name__ == "__main__":
    json.dump(probes(importlib.import_module(sys.argv[1])), sys.stdout)
