"""Random programs, as source: what a script may do to tensors, at random places.

`source(seed)` gives a program of some lines: operations, views, writes in place and through views,
leaves, backward passes and those of higher order, hooks, some of which raise, ``no_grad``, random
draws, memory shared with NumPy, generators, ``.data``, branches on values, two control flows by
turns, deletions, prints, and mistakes. `run(text)` runs it in float64, as gradients of ``tanh``
near its ends say little in float32, and returns what it has said: values, which errors came at
which line, and which tensors were still alive when it was asked.
"""

import random
import traceback
import weakref

import numpy as np

import torchlike as torch

_SHAPES = ((3, 4), (4,), (4, 3), (3, 1), ())


class _Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.depth = [], 0
        #: The variables that are there, with their shapes.
        self.shapes = {}
        self.leaves = []
        self.count = 0

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def new(self, shape):
        name = f"t{self.count}"
        self.count += 1
        self.shapes[name] = shape
        return name

    def any(self, *shapes):
        """Return a variable with one of these shapes, made where there is none."""
        found = [n for n, s in self.shapes.items() if not shapes or s in shapes]
        leaves = [n for n in found if n in self.leaves]
        if leaves and self.random.random() < 0.3:
            return self.random.choice(leaves)
        if found:
            return self.random.choice(found[-6:] if self.random.random() < 0.6 else found)
        shape = shapes[0] if shapes else (3, 4)
        name = self.new(shape)
        self.line(f"{name} = torch.rand({shape}) + 0.5")
        return name

    # -- statements --------------------------------------------------------------------------------

    def make(self):
        shape = self.random.choice(_SHAPES)
        how = self.random.choice(
            ("torch.rand({0}) + 0.5", "torch.ones({0})", "torch.full({0}, 0.7)")
        )
        name = self.new(shape)
        self.line(f"{name} = {how.format(shape)}")

    def leaf(self):
        shape = self.random.choice(_SHAPES[:3])
        name = self.new(shape)
        self.leaves.append(name)
        self.line(f"{name} = torch.rand({shape}).add(0.5).requires_grad_()")

    def elementwise(self):
        a = self.any()
        shape = self.shapes[a]
        b = self.any(shape, ())
        number = self.random.choice(("2", "0.5", "k", "1"))
        text = self.random.choice(
            (
                f"{a} + {b}", f"{a} * {b}", f"{a} - {number}", f"{a} * {number}", f"{a}.tanh()",
                f"{a}.sigmoid() / ({b}.abs() + 1)", f"torch.relu({a}) - {b}", f"{a}.clone()",
                f"{a}.detach()", f"torch.where({a} > 1, {a}, {b})", f"({a} * {number}).cos()",
            )
        )  # fmt: skip
        self.line(f"{self.new(shape)} = {text}")

    def reduce(self):
        a = self.any((3, 4), (4, 3))
        rows = self.shapes[a][1:]
        text, shape = self.random.choice(
            (
                (f"{a}.sum()", ()),
                (f"{a}.mean(0)", rows),
                (f"{a}.amax(0)", rows),
                (f"torch.softmax({a}, -1)", self.shapes[a]),
                (f"torch.layer_norm({a}, {rows})", self.shapes[a]),
            )
        )
        self.line(f"{self.new(shape)} = {text}")

    def multiply(self):
        a, b = self.any((3, 4)), self.any((4, 3))
        self.line(f"{self.new((3, 4))} = {a} @ {b} @ {a} * 0.1")

    def view(self):
        a = self.any((3, 4))
        text, shape = self.random.choice(
            (
                (f"{a}.t()", (4, 3)),
                (f"{a}[1]", (4,)),
                (f"{a}[:, :1]", (3, 1)),
                (f"{a}.reshape(4, 3)", (4, 3)),
                (f"{a}.view(3, 4)", (3, 4)),
                (f"{a}.T.T[i % 3]", (4,)),
            )
        )
        self.line(f"{self.new(shape)} = {text}")

    def write(self):
        a = self.any((3, 4), (4,))
        number = self.random.choice(("2", "0.5", "k"))
        first = f"{a}[0]"
        text = self.random.choice(
            (f"{a}.add_({number})", f"{a}.mul_({number})", f"{first} = {number}", f"{a}.tanh_()",
             f"{a}[..., 1:].mul_({number})", f"{a}.copy_({self.any((4,))})", f"{first} += 1",
             f"{a}.zero_().add_({number})")
        )  # fmt: skip
        with_grad = self.random.random() < 0.5
        self.tried(text if with_grad else f"with torch.no_grad(): {text}")

    def backward(self):
        a = self.any()
        self.tried(f"{a}.sum().backward(retain_graph={self.random.random() < 0.5})")
        if self.leaves and self.random.random() < 0.7:
            leaf = self.random.choice(self.leaves)
            if leaf in self.shapes:
                self.line(f"say({leaf}.grad)")

    def step(self):
        leaves = [x for x in self.leaves if x in self.shapes]
        if leaves:
            self.line(f"o = torch.optim.SGD([{', '.join(leaves)}], lr=k / 10, momentum=0.9)")
            self.line("o.step()")

    def hook(self):
        a = self.any()
        does = self.random.choice(("lambda g: say(g)", "lambda g: g * 2"))
        self.line(f"if {a}.requires_grad: {a}.register_hook({does})")

    def gradients(self):
        """Differentiate twice."""
        if leaves := [x for x in self.leaves if x in self.shapes]:
            leaf, a = self.random.choice(leaves), self.any()
            self.line("try:")
            self.line(f"    (g,) = torch.autograd.grad(({leaf} * {leaf}.tanh() + {a}.sum()).sum(),")
            self.line(f"        {leaf}, create_graph=True)")
            self.line(f"    g.square().sum().backward(); say(g); say({leaf}.grad)")
            self.line("except RuntimeError as error:")
            self.line("    fail(error)")

    def retain(self):
        """Keep a result's gradient, or have its hook raise."""
        a = self.any()
        if self.random.random() < 0.5:
            self.tried(f"{a}.retain_grad(); {a}.sum().backward(retain_graph=True); say({a}.grad)")
        else:
            self.line(f"if {a}.requires_grad and not {a}.is_leaf:")
            self.line(f"    h = {a}.register_hook(lambda g: say(g) or [][1])")
            self.depth += 1
            self.tried(f"{a}.sum().backward(retain_graph=True)")
            self.depth -= 1
            self.line("    h.remove()")

    def draw(self):
        a = self.any()
        text = self.random.choice(
            (f"torch.dropout({a}, 0.5, True)", f"{a} + torch.randn(())", f"torch.rand_like({a})")
        )
        self.line(f"{self.new(self.shapes[a])} = {text}")

    def share(self):
        """Write through NumPy's array of a tensor."""
        a = self.any((3, 4), (4,))
        self.line(f"n = {a}.detach().numpy()")
        self.line(f"with torch.no_grad(): {a}.mul_(0.5)")
        self.line("n[0] += 1")
        self.line(f"say(n.sum().item()); say({a})")

    def data(self):
        a = self.any((3, 4))
        self.line(f"{a}.data = {a}.data * 0.5 + {self.any((3, 4))}.detach()")

    def generate(self):
        a = self.any()
        self.line(f"g = (({a} * j).sum() for j in range(3))")
        self.line(f"{self.new(())} = next(g) + next(g)")
        if self.random.random() < 0.5:
            self.line("del g")

    def say(self):
        a = self.any()
        text = self.random.choice((f"say({a})", f"say({a}.sum().item())", f"say(str({a}.shape))"))
        self.line(text)

    def delete(self):
        if len(self.shapes) > 3:
            name = self.random.choice(list(self.shapes))
            del self.shapes[name]
            self.line(f"r = weakref.ref({name})")
            self.line(f"del {name}")
            self.line("say(r() is None)")

    def mistake(self):
        a = self.any((3, 4))
        self.tried(
            self.random.choice(
                (f"{a} + torch.ones(5)", f"{a} @ {a}", f"{a}[7]", f"{a}.view(5, 5)", f"{a}.item()",
                 f"{a}[torch.tensor([0, 9])]", f"torch.embedding({a}, torch.tensor([3]))")
            )
        )  # fmt: skip

    def tried(self, text):
        self.line("try:")
        self.line(f"    {text}")
        self.line("except (RuntimeError, IndexError) as error:")
        self.line("    fail(error)")

    def branch(self):
        a = self.any()
        known, leaves = dict(self.shapes), list(self.leaves)
        for head in (f"if {a}.sum() > 2:", "else:"):
            self.line(head)
            self.depth += 1
            for _ in range(self.random.randrange(1, 3)):
                self.random.choice((self.elementwise, self.write, self.say))()
            self.depth -= 1
            self.shapes, self.leaves = dict(known), list(leaves)

    STATEMENTS = (
        (elementwise, 8), (make, 1), (leaf, 1), (reduce, 3), (multiply, 2), (view, 4), (write, 4),
        (backward, 2), (step, 1), (hook, 1), (say, 3), (delete, 2), (mistake, 1), (branch, 1),
        (gradients, 1), (retain, 1), (draw, 1), (share, 1), (data, 1), (generate, 1),
    )  # fmt: skip

    def program(self, length):
        for _ in range(3):
            self.make()
        self.leaf()
        self.line("for i in range(6):")
        self.depth += 1
        self.line("k = 0.5 + i / 4")
        known, leaves = dict(self.shapes), list(self.leaves)
        for turn in ("if i % 2:", "else:"):
            self.line(turn)
            self.depth += 1
            kinds, weights = zip(*self.STATEMENTS, strict=True)
            self.shapes, self.leaves = dict(known), list(leaves)
            kept = set(known)
            for _ in range(length):
                kind = self.random.choices(kinds, weights)[0]
                if kind is _Writer.delete and not set(self.shapes) - kept:
                    continue
                before = self.shapes
                if kind is _Writer.delete:  # what comes from outside is needed at the next turn
                    self.shapes = {n: s for n, s in before.items() if n not in kept}
                kind(self)
                if kind is _Writer.delete:
                    self.shapes |= {n: before[n] for n in kept}
            self.depth -= 1
        self.depth = 0
        for name in known:
            self.line(f"say({name})")
        return "\n".join(self.lines) + "\n"


def source(seed, length=12):
    """Return the program of a seed."""
    return _Writer(seed).program(length)


def run(text):
    """Run a program and return what it said."""
    said = []

    def say(x):
        said.append(x.detach().numpy().copy() if isinstance(x, torch.Tensor) else x)

    def fail(error):
        lines = [
            f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<program>"
        ]
        said.append((type(error).__name__, str(error).split("\n")[0], lines[-1]))
        error.__traceback__ = None  # whose frames hold tensors

    torch.manual_seed(0)
    space = {"torch": torch, "say": say, "fail": fail, "weakref": weakref}
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        exec(compile(text, "<program>", "exec"), space)
    except Exception as error:
        fail(error)
    finally:
        torch.set_default_dtype(dtype)
    return said


def differences(found, expected):
    """Return where two runs said different things."""
    if len(found) != len(expected):
        return [f"{len(found)} instead of {len(expected)}: {found[-1:]} {expected[-1:]}"]
    wrong = []
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if isinstance(b, (np.ndarray, float)) and type(a) is type(b):
            same = np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True)
        else:
            same = type(a) is type(b) and a == b
        if not same:
            wrong.append(f"{i}: {a!r} instead of {b!r}")
    return wrong
