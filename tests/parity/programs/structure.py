"""Random programs whose compiled function makes and changes modules, hooks and optimizers.

A program is a body, run once for each call, and lines between the calls. What it left is compared
after each: results, parameters, buffers, gradients, counts of hooks and groups, and which of all
the tensors that somebody holds are one object.
"""

from __future__ import annotations

import random
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

PREAMBLE = """
class Scale(torch.nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = torch.nn.Parameter(torch.ones(2) * k)
        self.register_buffer("n", torch.zeros(2))

    def forward(self, x):
        return x * self.k + self.n


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = torch.nn.Sequential(Scale(0.5))
        self.lst = torch.nn.ModuleList([Scale(2.0), torch.nn.Softsign()])
        self.md = torch.nn.ModuleDict()
        self.pd = torch.nn.ParameterDict()
        self.pl = torch.nn.ParameterList()
        self.sub = Scale(1.5)

    def forward(self, x):
        x = self.sub(self.seq(x))
        for child in self.lst:
            x = child(x)
        for child in self.md.values():
            x = child(x)
        for p in (*self.pd.values(), *self.pl):
            x = x + p
        if getattr(self, "c0", None) is not None:
            x = self.c0(x)
        return x


def tensors(*names):
    return [t for t in (getattr(net, n, None) for n in names) if isinstance(t, torch.Tensor)]


def step(x):
    if s.opt is None:
        return
    loss = net(x).sum()
    s.opt.zero_grad()
    loss.backward()
    s.opt.step()


class Around(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)


net = Net()
net.b1 = None
s = SimpleNamespace(opt=None, held=None, other=None, made=None, items=[], table={}, handles=[])
"""

NAMES = ("b0", "b1", "w0", "w1", "a0")


def _owner(r: random.Random) -> str:
    return r.choice(("net", "net", "net.sub", "net.seq", "net.lst"))


def _k(r: random.Random) -> str:
    return r.choice(("0.5", "1.5", "2.0", "3.0"))


def condition(r: random.Random) -> str:
    o, n, k = _owner(r), r.choice(NAMES), r.randint(1, 9)
    return r.choice(
        (
            f'not hasattr({o}, "{n}")',
            f'hasattr({o}, "{n}")',
            f'getattr({o}, "{n}", None) is None',
            f'getattr({o}, "{n}", None) is not None',
            f'"{n}" not in {o}._buffers',
            f'"{n}" in {o}._parameters',
            '"c0" not in net._modules',
            f"len(list({o}.parameters())) < {k}",
            f"len(list({o}.buffers())) < {k}",
            f"len({o}.state_dict()) < {k}",
            f"len(dict({o}.named_buffers())) < {k}",
            f"len(list({o}.modules())) < {k}",
            f"len(net.lst) < {k}",
            f"len(net.seq) < {k}",
            "len(net.pd) < 2",
            "len(net.pl) < 2",
            '"k" in net.md',
            '"k" not in net.pd',
            f"len({o}._forward_hooks) < 2",
            f"len({o}._forward_pre_hooks) < 2",
            "net.training",
            "s.opt is None",
            "s.opt is not None and len(s.opt.param_groups) < 3",
            "s.made is None",
            "s.held is None",
            "not s.items",
            '"t" not in s.table',
            "s.handles",
            "net.sub.k.requires_grad",
            f"isinstance({o}, torch.nn.Sequential)",
            f'"{n}" in dict({o}.named_parameters())',
            f'"{n}" in dir({o})',
            f'"{n}" in {o}.state_dict()',
            "isinstance(net.lst[-1], Scale)",
            "True",
            "True",
            "True",
        )
    )


def _taken(o: str, kind: str, n: str) -> str:
    """Whether a name is free for a kind of thing, or has one of it."""
    return f'("{n}" in {o}.{kind} or not hasattr({o}, "{n}"))'


def change(r: random.Random) -> str:
    """One statement that changes something, which is valid whatever is there."""
    o, k = _owner(r), _k(r)
    b, w, n = r.choice(("b0", "b1")), r.choice(("w0", "w1")), r.choice(NAMES)
    hook = f"lambda m, a, y: y + {k}"
    buffer, parameter = _taken(o, "_buffers", b), _taken(o, "_parameters", w)
    return r.choice(
        (
            f'if {buffer}: {o}.register_buffer("{b}", x.detach() * {k})',
            f'if {buffer}: {o}.register_buffer("{b}", x.detach() * {k}, persistent=False)',
            f'if {buffer}: {o}.register_buffer("{b}", None)',
            f"if {buffer}: {o}.{b} = torch.nn.Buffer(x.detach() * {k})",
            f'if "{b}" in {o}._buffers: {o}.{b} = x.detach() * {k}',
            f'if {o}._buffers.get("{b}") is not None: {o}.{b} = {o}.{b} + x.detach()',
            f'if "{n}" in {o}._buffers: {o}.{n} = None',
            f'if hasattr({o}, "{n}"): del {o}.{n}',
            f'if hasattr({o}, "{n}"): delattr({o}, "{n}")',
            f"{o}.a0 = x * {k}",
            f"{o}.a0 = None",
            f'{o}.a0 = x.detach() + (getattr({o}, "a0", None) '
            f'if getattr({o}, "a0", None) is not None else 0)',
            f"if {parameter}: {o}.{w} = torch.nn.Parameter(x.detach() * {k})",
            f'if {parameter}: {o}.register_parameter("{w}", torch.nn.Parameter(x.detach() * {k}))',
            f'if {parameter}: {o}.register_parameter("{w}", None)',
            f"if {parameter}: {o}.{w} = net.sub.k",
            f'if "{b}" in {o}._buffers: {o}.{b} = torch.nn.Parameter(x.detach() * {k})',
            f'if "{w}" in {o}._parameters: {o}.{w} = None',
            f"net.c0 = Scale({k})",
            "net.c0 = None if hasattr(net, 'c0') else torch.nn.Softsign()",
            "if hasattr(net, 'c0'): del net.c0",
            f'net.add_module("c0", Scale({k}))',
            f"net.lst.append(Scale({k}))",
            f"net.lst.insert(0, Scale({k}))",
            "net.lst.extend([torch.nn.Softsign(), torch.nn.Identity()])",
            f"net.lst[0] = Scale({k})",
            "net.lst[0], net.lst[-1] = net.lst[-1], net.lst[0]",
            "if len(net.lst) > 1: del net.lst[0]",
            "if len(net.lst) > 1: net.lst.pop(-1)",
            f"net.seq.append(Scale({k}))",
            f"net.seq[0] = Scale({k})",
            "if len(net.seq) > 1: del net.seq[-1]",
            f"net.seq.insert(0, Scale({k}))",
            f"net.sub = Scale({k})",
            "net.sub = net.seq[0] if isinstance(net.seq[0], Scale) else net.sub",
            f'net.md["k"] = Scale({k})',
            f'net.md.update({{"q": Scale({k})}})',
            'if "k" in net.md: net.md.pop("k")',
            "net.md.clear()",
            f'net.pd["k"] = torch.nn.Parameter(x.detach() * {k})',
            'if "k" in net.pd: del net.pd["k"]',
            'net.pd["q"] = net.sub.k',
            "net.pd.clear()",
            f"if len(net.pl) < 3: net.pl.append(torch.nn.Parameter(x.detach() * {k}))",
            f"if len(net.pl): net.pl[0] = torch.nn.Parameter(x.detach() * {k})",
            f"{o}.register_forward_hook({hook})",
            f"s.handles.append({o}.register_forward_hook({hook}))",
            "s.handles.append(net.sub.register_forward_pre_hook(lambda m, a: (a[0] * 2,)))",
            f"net.sub.register_forward_hook({hook}, prepend=True)",
            "net.sub.register_full_backward_hook(lambda m, gi, go: tuple("
            "None if g is None else g * 2 for g in gi))",
            "if s.handles: s.handles.pop().remove()",
            f"handle = net.sub.register_forward_hook({hook}); y = y + net(x); handle.remove()",
            "net.sub._forward_hooks.clear()",
            "s.opt = torch.optim.SGD(net.parameters(), lr=0.1)",
            "s.opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)",
            "s.opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad] or "
            "[torch.nn.Parameter(torch.ones(2))], lr=0.1)",
            "add_group(s.opt, list(net.sub.parameters()))",
            f"add_group(s.opt, [torch.nn.Parameter(torch.ones(2) * {k})])",
            "add_group(s.opt, [p for p in net.parameters() if p not in held_by(s.opt)])",
            "s.opt = None",
            "if s.opt is not None: s.opt.param_groups[0]['lr'] = 0.25",
            "if s.opt is not None and len(s.opt.param_groups) > 1: s.opt.param_groups.pop()",
            "step(x)",
            "step(x)",
            "step(x.detach())",
            "s.held = net.sub.k",
            "s.held = y",
            f'for t in tensors("{b}"): s.held = t',
            "s.other = s.held",
            f'for t in tensors("{w}", "a0"): s.items.append(t)',
            "s.items.append(y)",
            's.table["t"] = y',
            f's.table["t"] = next(iter({o}.parameters()), None)',
            "s.items.clear()",
            's.table.pop("t", None)',
            "s.held = x",
            "s.held = x[:1]",
            "s.items.append(x)",
            f'for t in tensors("{b}", "a0"):\n    with torch.no_grad(): t.add_(1)',
            "with torch.no_grad(): net.sub.k.mul_(0.5)",
            "net.sub.n.add_(1)",
            "net.sub.n = net.sub.n + 1",
            "net.sub.k = torch.nn.Parameter(net.sub.k.detach() * 0.5)",
            "net.train(not net.training)",
            "net.sub.k.requires_grad_(not net.sub.k.requires_grad)",
            f"s.made = Scale({k})",
            "s.made = net.sub",
            "net.c0 = s.made",
            "if s.made is not None: y = y + s.made(x)",
            "if s.made is not None: net.lst.append(s.made)",
            f"s.made = Scale({k}); s.held = s.made.k; "
            "s.opt = torch.optim.SGD(s.made.parameters(), lr=0.1)",
            "net.zero_grad()",
            "net.load_state_dict(net.state_dict(), strict=False)",
            f"for m in net.modules(): m.tag = {k}",
            "for name, child in list(net.named_children()):\n    "
            f"if isinstance(child, Scale): setattr(net, name, Scale({k}))",
        )
    )


def reading(r: random.Random) -> str:
    """One statement that makes the result depend on something."""
    o, n = _owner(r), r.choice(NAMES)
    return r.choice(
        (
            "y = y + net(x)",
            "y = y + net(x)",
            "y = y + net.sub(x)",
            f"y = y + sum(b.sum() for b in {o}.buffers())",
            f"y = y + len(list({o}.parameters()))",
            f"y = y + len({o}.state_dict())",
            f"y = y + sum(p.sum() for p in {o}.parameters())",
            f'y = y + (getattr({o}, "{n}", None) if getattr({o}, "{n}", None) is not None else 7)',
            f'y = y * (2 if hasattr({o}, "{n}") else 3)',
            f'for t in tensors("{n}"): y = y + t',
            "y = y + len(net.lst) * 10 + len(net.pd)",
            "y = y + len(net.sub._forward_hooks) * 5",
            "y = y + (0 if s.opt is None else len(s.opt.param_groups))",
            "y = y + len(s.items) + len(s.table)",
            "if isinstance(s.held, torch.Tensor): y = y + s.held.sum()",
            "y = y + (1 if net.training else 2)",
            'y = y + getattr(net.sub, "tag", 0)',
        )
    )


HELPERS = """
def held_by(opt):
    return set() if opt is None else {p for g in opt.param_groups for p in g["params"]}


def add_group(opt, params):
    if opt is None or not params:
        return
    try:
        opt.add_param_group({"params": params})
    except ValueError:
        s.table["refused"] = s.table.get("refused", 0) + 1
"""


def _indented(statement: str, by: int = 4) -> str:
    return "\n".join(" " * by + line for line in statement.split("\n"))


class Structure:
    """One program, drawn by a seed: one or two bodies, compiled each by itself, and in which order
    they are called."""

    def __init__(self, seed: int, calls: int = 6) -> None:
        r = random.Random(seed)
        self.seed = seed
        n = 1 if r.random() < 0.7 else 2
        self.bodies = [_body(r, f"body{i}") for i in range(n)]
        self.order = [0] * calls if n == 1 else [r.randrange(n) for _ in range(calls)]
        #: Whether what is compiled is a module around the body.
        self.as_modules = r.random() < 0.3
        self.between: list[list[str]] = []
        for _ in range(calls):
            n = r.choice((0, 0, 0, 1, 1, 2))
            self.between.append([change(r) if r.random() < 0.7 else "step(x)" for _ in range(n)])
        self.trains = [r.random() < 0.4 for _ in range(calls)]
        #: What each call is given: a new tensor, one that is there, or one that requires grad.
        self.given = [r.choice(("new", "new", "new", "held", "leaf")) for _ in range(calls)]

    def __repr__(self) -> str:
        between = "\n".join(f"# after call {i}: {b}" for i, b in enumerate(self.between) if b)
        bodies = "\n\n".join(self.bodies)
        return (
            f"# seed {self.seed}, as modules: {self.as_modules}\n{bodies}\n{between}\n"
            f"# order {self.order}, given {self.given}, backward after {self.trains}"
        )

    def run(self, torch: Any, wrap: Any) -> list[Any]:
        """What is seen after each call."""
        env: dict[str, Any] = {
            "torch": torch,
            "SimpleNamespace": SimpleNamespace,
            "__name__": "random_structure",
        }
        found = []
        source = "\n\n".join([PREAMBLE + HELPERS, *self.bodies])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, "<structure>", "exec"), env)
            functions = [env[f"body{i}"] for i in range(len(self.bodies))]
            if self.as_modules:
                functions = [env["Around"](f) for f in functions]
            functions = [wrap(f) for f in functions]
            for i, which in enumerate(self.order):
                x = torch.tensor([0.5 + i, -1.0])
                if self.given[i] == "leaf":
                    x.requires_grad_()
                elif self.given[i] == "held" and getattr(env["s"].held, "shape", None) == (2,):
                    x = env["s"].held
                result = functions[which](x)
                found.append(_seen(torch, env, x, result))
                y = result[0] if isinstance(result, tuple) else result
                if self.trains[i] and y.requires_grad:
                    y.sum().backward()
                    found.append(_seen(torch, env, x, result))
                env["x"], env["y"] = x, y
                for line in self.between[i]:
                    exec(compile(line, "<between>", "exec"), env)
                if self.between[i]:
                    found.append(_seen(torch, env, x, result))
        return found


def _body(r: random.Random, name: str) -> str:
    lines = ["y = x * 1"]
    for _ in range(r.randint(2, 8)):
        if r.random() < 0.35:
            lines.append(reading(r))
        else:
            made = change(r)
            if r.random() < 0.7:
                made = f"if {condition(r)}:\n{_indented(made)}"
                if r.random() < 0.25:
                    made += f"\nelse:\n{_indented(change(r))}"
            lines.append(made)
    lines.append(reading(r))
    if r.random() < 0.4:
        lines.append(reading(r))
    result = r.choice(("y", "y", "y * 2", "(y, s.held)", "y.detach()", "(y, net.sub.k)"))
    lines.append(f"return {result}")
    return f"def {name}(x):\n" + "\n".join(map(_indented, lines))


def _seen(torch: Any, env: dict[str, Any], x: Any, result: Any) -> dict[str, Any]:
    """All that a script could look at."""
    net, s = env["net"], env["s"]
    results = result if isinstance(result, tuple) else (result,)
    named: list[tuple[str, Any]] = [("x", x)]
    named += [(f"result {i}", t) for i, t in enumerate(results)]
    named += [(f"net.{n}", p) for n, p in net.named_parameters(remove_duplicate=False)]
    named += [(f"net.{n}", b) for n, b in net.named_buffers(remove_duplicate=False)]
    for path, module in net.named_modules():
        named.append((f"{path}.a0", module.__dict__.get("a0")))
    named += [("held", s.held), ("other", s.other)]
    named += [(f"items {i}", t) for i, t in enumerate(s.items)]
    named += [(f"table {k}", v) for k, v in s.table.items()]
    if s.made is not None:
        named += [(f"made.{n}", p) for n, p in s.made.named_parameters()]
    for i, group in enumerate(s.opt.param_groups if s.opt is not None else ()):
        named += [(f"group {i} {j}", p) for j, p in enumerate(group["params"])]
        named.append((f"group {i} lr", group["lr"]))
    named += [(f"grad of {n}", t.grad) for n, t in list(named) if isinstance(t, torch.nn.Parameter)]
    first: dict[int, int] = {}
    seen: dict[str, Any] = {}
    for name, t in named:
        if isinstance(t, torch.Tensor):
            one = first.setdefault(id(t), len(first))
            kind = isinstance(t, torch.nn.Parameter), t.requires_grad, t.is_leaf
            seen[name] = np.asarray(t.detach().tolist()), kind, one
        else:
            seen[name] = t
    seen["order of parameters"] = [n for n, _ in net.named_parameters()]
    seen["order of buffers"] = [n for n, _ in net.named_buffers()]
    seen["state"] = list(net.state_dict())
    seen["modules"] = [(n, type(m).__name__, m.training) for n, m in net.named_modules()]
    seen["hooks"] = [
        (len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks))
        for m in net.modules()
    ]
    seen["handles"] = len(s.handles)
    return seen


def difference(ours: list[Any], theirs: list[Any]) -> str:
    """Where two runs differ first; "" for nowhere."""
    if len(ours) != len(theirs):
        return f"{len(ours)} observations, not {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.keys() != b.keys():
            return f"observation {i}: only one has {sorted(a.keys() ^ b.keys())}"
        for name, expected in b.items():
            if not _alike(a[name], expected):
                return f"observation {i}: {name} is {a[name]}, not {expected}"
    return ""


def _alike(a: Any, b: Any) -> bool:
    if isinstance(b, tuple) and isinstance(b[0], np.ndarray):
        return (
            isinstance(a, tuple)
            and a[1:] == b[1:]
            and a[0].shape == b[0].shape
            # What is left of a sum has the error of its largest term.
            and np.allclose(a[0], b[0], 1e-4, 1e-5 * np.abs(b[0]).max(initial=10), equal_nan=True)
        )
    return a == b
