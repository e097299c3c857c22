"""How each kind of line is drawn, given the reference's live tensors.

Sizes, indices and constants come from small sets, so that programs share compiled functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

BASE_SHAPES = ((4,), (2, 3), (2, 2), (2, 2, 3), (1, 3), (), (4, 2))


class Source:
    """What a statement draws from: hypothesis' choices and the reference's tensors."""

    def __init__(self, draw: Callable[..., Any], strategies: Any, env: dict[str, Any]) -> None:
        self._draw = draw
        self._st = strategies
        self.env = env
        self.tensors: list[str] = []
        self.arrays: list[str] = []
        self.made = 0

    def pick(self, options: Any) -> Any:
        return self._draw(self._st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        return self._draw(self._st.integers(low, high))

    def chance(self, one_in: int) -> bool:
        return self.integer(0, one_in - 1) == one_in - 1

    def tensor(self, suits: Callable[[Any], Any] = lambda t: True) -> tuple[str, Any]:
        """A live tensor for which ``suits`` holds; LookupError when there is none."""
        names = [n for n in self.tensors if suits(self.env[n])]
        if not names:
            raise LookupError
        name = self.pick(names)
        return name, self.env[name]

    def new(self) -> str:
        self.made += 1
        return f"t{self.made}"

    def dim(self, t: Any) -> int:
        """A dimension of ``t``, now and then counted from the end."""
        if not t.dim():
            return 0
        d = self.integer(0, t.dim() - 1)
        return d - t.dim() if self.chance(4) else d

    def number(self) -> float:
        return float(self.pick((2, -1, 0, 3, -2)))


def size(t: Any) -> tuple[int, ...]:
    return tuple(t.shape)


def is_real(t: Any) -> Any:
    return not t.dtype.is_complex


def has_dims(t: Any) -> Any:
    return t.dim() > 0


def broadcasts(t: Any, to: Any) -> Any:
    """Whether ``t`` can be broadcast to the shape of ``to``."""
    a, b = size(t), size(to)
    return len(a) <= len(b) and all(
        m in (1, n) for m, n in zip(reversed(a), reversed(b), strict=False)
    )


# -- leaves ----------------------------------------------------------------------------------------


def literal(shape: tuple[int, ...], start: int) -> Any:
    """Nested lists of small whole numbers, so that arithmetic is exact."""
    if not shape:
        return float((start * 5) % 7 - 3)
    inner = math.prod(shape[1:])
    return [literal(shape[1:], start + i * inner) for i in range(shape[0])]


def leaf(s: Source) -> str:
    shape = s.pick(BASE_SHAPES)
    dtype = s.pick(("float32", "float32", "float64"))
    grad = ", requires_grad=True" if s.chance(2) else ""
    return f"{s.new()} = torch.tensor({literal(shape, s.integer(0, 2))}, dtype=torch.{dtype}{grad})"


def leaf_plain(s: Source) -> str:
    shape = s.pick(BASE_SHAPES)
    return f"{s.new()} = torch.tensor({literal(shape, s.integer(0, 2))})"


def leaf_from_numpy(s: Source) -> str:
    values = literal(s.pick(((4,), (2, 3), (4, 2))), s.integer(0, 2))
    part = s.pick(("", ".T", "[::2]", "[1:]", "[..., 1:]"))
    n = s.new()
    return f"a{n} = np.array({values}, dtype=np.float32){part}; {n} = torch.from_numpy(a{n})"


# -- views -----------------------------------------------------------------------------------------


def view_permuting(s: Source) -> str:
    n, x = s.tensor()
    kind = s.pick(("t", "transpose", "permute", "movedim", "T", "mT", "swapaxes"))
    nd = x.dim()
    if kind == "t" and nd <= 2:
        call = "t()"
    elif kind == "T" and nd == 2:
        call = "T"
    elif kind == "mT" and nd >= 2:
        call = "mT"
    elif kind == "movedim" and nd:
        call = f"movedim({s.dim(x)}, {s.dim(x)})"
    elif kind == "permute":
        order = list(range(nd))
        for _ in range(nd):
            order.insert(0, order.pop(s.integer(0, nd - 1)))
        call = f"permute({tuple(order)})"
    else:
        call = f"{'swapaxes' if kind == 'swapaxes' else 'transpose'}({s.dim(x)}, {s.dim(x)})"
    return f"{s.new()} = {n}.{call}"


def _other_shape(s: Source, x: Any) -> tuple[int, ...]:
    """A shape with as many elements as ``x``."""
    n = x.numel()
    shapes = [(n,), (1, n), (n, 1), (-1,)]
    shapes += [(k, n // k) for k in (2, 3) if n and n % k == 0]
    shapes += [(k, -1) for k in (2, 3) if n and n % k == 0]
    shapes += [(2, n // 4, 2)] if n and n % 4 == 0 else []
    shapes += [()] if n == 1 else []
    return s.pick(shapes if n else [(0,), size(x)])


def view_reshaping(s: Source) -> str:
    n, x = s.tensor()
    kind = s.pick(
        (
            "view",
            "reshape",
            "reshape",
            "flatten",
            "squeeze",
            "unsqueeze",
            "ravel",
            "unflatten",
            "squeeze_dim",
            "view_as",
        )
    )
    if kind in ("view", "reshape"):
        call = f"{kind}({_other_shape(s, x)})"
    elif kind == "unsqueeze":
        call = f"unsqueeze({s.integer(-x.dim() - 1, x.dim())})"
    elif kind == "squeeze_dim":
        call = f"squeeze({s.dim(x)})"
    elif kind == "unflatten" and x.dim() and x.shape[0] % 2 == 0 and x.shape[0]:
        call = "unflatten(0, (2, -1))"
    elif kind == "view_as":
        call = f"view_as({n})"
    else:
        call = f"{'flatten' if kind == 'unflatten' else kind}()"
    return f"{s.new()} = {n}.{call}"


def view_part(s: Source) -> str:
    n, x = s.tensor(has_dims)
    d = s.dim(x)
    length = x.shape[d]
    kind = s.pick(("select", "narrow", "index", "slice", "slice", "mixed"))
    if kind == "select":
        call = f".select({d}, {s.integer(-length, length - 1) if length else 0})"
    elif kind == "narrow":
        start = s.integer(0, min(length, 2))
        call = f".narrow({d}, {start}, {s.integer(0, length - start)})"
    elif kind == "index":
        call = f"[{s.integer(0, max(size(x)[0] - 1, 0))}]"
    elif kind == "slice":
        call = (
            f"[{s.pick(('1:', ':-1', '::2', '1::2', ':', '1:2', '..., 1:', '..., ::2', '..., 0'))}]"
        )
    else:
        index = s.pick(("None", "..., None", "0, ...", "-1, None", "..., :1", "None, 0"))
        call = f"[{index}]"
    return f"{s.new()} = {n}{call}"


def view_diagonal(s: Source) -> str:
    n, _ = s.tensor(lambda t: t.dim() >= 2)
    where = s.pick(("", "1", "-1", "0, 1, 0", "0, -1, -2"))
    return f"{s.new()} = {n}.diagonal({where})"


def view_windows(s: Source) -> str:
    n, x = s.tensor(has_dims)
    d = s.dim(x)
    return f"{s.new()} = {n}.unfold({d}, {min(2, x.shape[d])}, {s.pick((1, 2))})"


def view_expanded(s: Source) -> str:
    n, x = s.tensor(lambda t: t.dim() < 3)
    grown = [2 if k == 1 and s.chance(2) else s.pick((-1, k)) for k in size(x)]
    if s.chance(2):
        grown.insert(0, s.pick((1, 2)))
    if s.chance(4):
        m, _ = s.tensor(lambda t: broadcasts(x, t))
        return f"{s.new()} = {n}.expand_as({m})"
    return f"{s.new()} = {n}.expand({tuple(grown)})"


def view_pieces(s: Source) -> str:
    n, x = s.tensor(has_dims)
    d = s.dim(x)
    kind = s.pick(("chunk", "split", "unbind", "split_list", "tensor_split"))
    length = x.shape[d]
    if kind == "split_list":
        call = f"split([{length // 2}, {length - length // 2}], {d})"
    elif kind == "unbind":
        call = f"unbind({d})"
    else:
        call = f"{kind}({2 if kind != 'split' else s.pick((1, 2))}, {d})"
    if length == 0:
        return f"{s.new()} = {n}.split(1, {d})[0]"
    a, b = s.new(), s.new()
    return f"{a}, {b} = [{n}.{call}[i] for i in (0, -1)]"


def view_complex(s: Source) -> str:
    n, x = s.tensor(lambda t: t.dtype.is_complex or (t.dim() and t.shape[-1] == 2))
    if x.dtype.is_complex:
        call = s.pick(
            (
                "torch.view_as_real({})",
                "{}.real",
                "{}.imag",
                "{}.conj()",
                "{}.resolve_conj()",
                "{}.mH" if x.dim() >= 2 else "{}.conj()",
            )
        )
        return f"{s.new()} = {call.format(n)}"
    return f"{s.new()} = torch.view_as_complex({n})"


def same_dtype(t: Any) -> Any:
    """Whether ``t`` is viewed in the dtype of its storage."""
    return t._base is None or t._base.dtype == t.dtype


def view_strided(s: Source) -> str:
    n, _ = s.tensor(lambda t: t.numel() >= 4 and is_real(t) and same_dtype(t))
    geometry = s.pick(
        (
            ("(2, 2)", "(2, 1)"),
            ("(2, 2)", "(1, 2)"),
            ("(3,)", "(1,)"),
            ("(2, 2)", "(1, 1)"),
            ("(2,)", "(2,)"),
            ("(3, 2)", "(0, 2)"),
            ("(2,)", "(3,)"),
        )
    )
    offset = s.pick(("", ", 0", ", 1", ", 2"))
    return f"{s.new()} = {n}.as_strided({geometry[0]}, {geometry[1]}{offset})"


def view_alias(s: Source) -> str:
    n, _ = s.tensor()
    return f"{s.new()} = {n}{s.pick(('.detach()', '.data', '.detach()', '[...]'))}"


# -- values ----------------------------------------------------------------------------------------


def unary(s: Source) -> str:
    n, x = s.tensor()
    if not is_real(x):
        return f"{s.new()} = {s.pick(('-{}', '{} * 2', '{} + 1')).format(n)}"
    form = s.pick(
        (
            "-{}",
            "{}.relu()",
            "{}.tanh()",
            "{}.clamp(-2, 2)",
            "{} * {}",
            "{}.abs()",
            "{} * 2",
            "{} + 1",
            "1 - {}",
            "torch.where({} > 0, {}, -1.0)",
        )
    )
    return f"{s.new()} = {form.replace('{}', n)}"


def binary(s: Source) -> str:
    n, x = s.tensor(is_real)
    m, _ = s.tensor(lambda t: is_real(t) and (broadcasts(t, x) or broadcasts(x, t)))
    form = s.pick(
        (
            "{0} + {1}",
            "{0} * {1}",
            "{0} - {1}",
            "torch.where({0} > 0, {0}, {1})",
            "torch.maximum({0}, {1})",
            "{0}.add({1}, alpha=2)",
        )
    )
    return f"{s.new()} = {form.format(n, m)}"


def reduction(s: Source) -> str:
    n, x = s.tensor()
    forms = ["{}.sum()", "{}.sum({d})", "{}.mean({d}, keepdim=True)"]
    return f"{s.new()} = {s.pick(forms).format(n, d=s.dim(x))}"


def copying(s: Source) -> str:
    n, _ = s.tensor()
    form = s.pick(("clone()", "contiguous()", "clone(memory_format=torch.contiguous_format)"))
    return f"{s.new()} = {n}.{form}"


def casting(s: Source) -> str:
    n, _ = s.tensor(is_real)
    return f"{s.new()} = {n}.{s.pick(('double()', 'float()', 'to(torch.float64)'))}"


def gathering_in_order(s: Source) -> str:
    """From a row-major tensor: NumPy has rules of its own for the order of what is gathered."""
    return gathering(s, lambda t: t.is_contiguous())


def gathering(s: Source, suits: Callable[[Any], Any] = lambda t: True) -> str:
    n, x = s.tensor(lambda t: t.dim() and is_real(t) and t.shape[0] and suits(t))
    last = x.shape[0] - 1
    form = s.pick(
        (
            "{n}[{n} > 0]",
            "{n}[[0, {k}]]",
            "{n}[torch.tensor([0, {k}, 0])]",
            "{n}[..., torch.tensor([0, 0])]",
            "{n}[torch.tensor({k}), None]",
            "{n}[None, [0, {k}]]",
            "{n}[torch.tensor([[0, {k}], [{k}, 0]]).t()]",
            "{n}[:, None, [0]]",
            "{n}[[{k}], ..., [0]]",
        )
    )
    if (form.startswith("{n}[:") or "]," in form) and (x.dim() < 2 or not x.shape[1]):
        form = "{n}[[0, {k}]]"
    if "..." in form and not x.shape[-1]:
        form = "{n}[[0, {k}]]"
    return f"{s.new()} = {form.format(n=n, k=last)}"


def joining(s: Source) -> str:
    n, x = s.tensor(lambda t: t.dim() and is_real(t))
    m, _ = s.tensor(lambda t: size(t) == size(x) and is_real(t))
    return f"{s.new()} = torch.{s.pick(('cat', 'stack'))}([{n}, {m}], {s.dim(x)})"


def like(s: Source) -> str:
    n, _ = s.tensor()
    return f"{s.new()} = torch.{s.pick(('zeros_like', 'ones_like'))}({n})"


def overlaps(t: Any) -> Any:
    """Whether two elements of ``t`` share memory."""
    reached = {0}
    for n, step in zip(size(t), t.stride(), strict=True):
        reached = {r + i * step for r in reached for i in range(n)}
    return len(reached) < t.numel()


def writable(t: Any) -> Any:
    """PyTorch refuses to write to an expanded tensor; what it does to other overlapping memory
    depends on the order of its loops, so torchlike refuses that too."""
    expanded = any(n > 1 and not step for n, step in zip(size(t), t.stride(), strict=True))
    return expanded or not overlaps(t)


# -- writes ----------------------------------------------------------------------------------------


def write_number(s: Source) -> str:
    n, _ = s.tensor(writable)
    return f"{n}.{s.pick(('add_', 'mul_', 'fill_', 'mul_'))}({s.number()})"


def write_unary(s: Source) -> str:
    n, _ = s.tensor(lambda t: is_real(t) and writable(t))
    return f"{n}.{s.pick(('zero_()', 'relu_()', 'neg_()', 'clamp_(-2, 2)', 'tanh_()'))}"


def reach(t: Any) -> set[int]:
    """Where in memory the elements of ``t`` lie, in bytes."""
    reached = {t.data_ptr()} if t.numel() else set()
    for n, step in zip(size(t), t.stride(), strict=True):
        reached = {r + i * step * t.dtype.itemsize for r in reached for i in range(n)}
    return reached


def is_dense(t: Any) -> bool:
    where = reach(t)
    return max(where) - min(where) == (t.numel() - 1) * t.dtype.itemsize


def clashes(read: Any, written: Any) -> Any:
    """Whether what a write reads depends on the order of PyTorch's loops: shared memory that is not
    gap-free, for which PyTorch finds it too dear to look."""
    if not reach(read) & reach(written):
        return False
    same = (
        read.data_ptr() == written.data_ptr()
        and read.shape == written.shape
        and (read.stride() == written.stride())
    )
    if read.shape != written.shape:
        return True
    if hasattr(read, "a") and read.shape.count(1):
        return (
            True  # PyTorch looks at the strides of dimensions of size 1, which NumPy does not have
        )
    return not same and not (is_dense(read) and is_dense(written))


def write_tensor(s: Source) -> str:
    n, x = s.tensor(lambda t: is_real(t) and writable(t))
    m, _ = s.tensor(lambda t: is_real(t) and broadcasts(t, x) and not clashes(t, x))
    form = s.pick(
        (
            "{}.add_({})",
            "{}.mul_({})",
            "{}.copy_({})",
            "{}.copy_({})",
            "{}[...] = {}",
            "{}.sub_({}, alpha=2)",
        )
    )
    return form.format(n, m)


def write_complex(s: Source) -> str:
    n, x = s.tensor(lambda t: t.dtype.is_complex and writable(t))
    m, _ = s.tensor(lambda t: broadcasts(t, x) and not clashes(t, x))
    return s.pick(("{}.add_({})", "{}.mul_({})", "{}.copy_({})", "{0}.mul_(2j)")).format(n, m)


def write_out(s: Source) -> str:
    """``out=``: of the result's shape, as another one is resized."""
    n, x = s.tensor(is_real)
    m, y = s.tensor(lambda t: is_real(t) and broadcasts(t, x))
    k, _ = s.tensor(
        lambda t: (
            is_real(t)
            and size(t) == size(x)
            and writable(t)
            and not clashes(x, t)
            and not clashes(y, t)
        )
    )
    # PyTorch lets out= write to what requires grad while none is recorded; then its gradient is of
    # what was overwritten. It is a mistake that neither library can tell from a wanted one.
    form = s.pick(
        (
            "torch.add({n}, {m}, out={k})",
            "torch.mul({n}, {m}, out={k})",
            "torch.tanh({n}, out={k})",
            "torch.neg({n}, out={k})",
        )
    )
    return form.format(n=n, m=m, k=k)


def write_item(s: Source) -> str:
    n, x = s.tensor(lambda t: t.dim() and writable(t))
    if not x.numel():
        raise LookupError
    index = s.pick(("0", "-1", "1:", "::2", "..., 0", "..., 1:", "0, ..., None", ":"))
    part = eval(f"x.detach()[{index}]", {"x": x})
    if s.chance(2):
        return f"{n}[{index}] = {s.number()}"
    # PyTorch's own gradient of a real number written to complex memory has the wrong dtype.
    m, y = s.tensor(
        lambda t: (
            is_real(t)
            and broadcasts(t, part)
            and not clashes(t, x)
            and (t.dim() or is_real(x) or not t.requires_grad)
        )
    )
    form = s.pick(("=", "=", "+=", "*="))
    if form != "=" and index == ":" and x._is_view() and y.requires_grad and not x.requires_grad:
        # Two writes through x itself; at the second PyTorch still takes x for a leaf.
        form = "="
    return f"{n}[{index}] {form} {m}"


def write_advanced(s: Source) -> str:
    # PyTorch deprecates such writes to overlapping memory, torchlike refuses them.
    n, x = s.tensor(lambda t: t.dim() and is_real(t) and t.numel() and not overlaps(t))
    last = x.shape[0] - 1
    kind = s.pick(("mask", "index", "index_tensor", "last", "masked_fill", "put"))
    if kind == "masked_fill":
        return f"{n}.masked_fill_({n}.detach() > 0, {s.number()})"
    index = {
        "mask": f"{n}.detach() > 0",
        "index": f"[{last}]",
        "put": f"[{last}]",
        "index_tensor": "torch.tensor([0])",
        "last": "..., torch.tensor([0])",
    }[kind]
    if kind == "put":
        return (
            f"{n}.index_put_((torch.tensor([0, 0]),), torch.tensor({s.number()}), accumulate=True)"
        )
    if s.chance(2) or kind == "mask":
        return f"{n}[{index}] = {s.number()}"
    part = eval(f"x.detach()[{index}]", {"x": x, "torch": s.env.get("torch")})
    m, _ = s.tensor(lambda t: is_real(t) and broadcasts(t, part) and not clashes(t, x))
    return f"{n}[{index}] = {m}"


def write_array(s: Source) -> str:
    """Writes on NumPy's side."""
    a = s.pick(s.arrays) if s.arrays else None
    if a is None:
        raise LookupError
    return s.pick(("{}[...] = {}", "{} += {}", "{}[..., :1] *= {}")).format(a, s.number())


def share(s: Source) -> str:
    n, x = s.tensor(lambda t: not (t.dtype.is_complex and t.is_conj()))
    detach = ".detach()" if x.requires_grad and not s.chance(4) else ""
    return f"a{s.new()} = {n}{detach}.numpy()"


def replace_data(s: Source) -> str:
    n, x = s.tensor(is_real)
    if not writable(x):
        raise LookupError
    m, _ = s.tensor(lambda t: t.dtype == x.dtype and (size(t) == size(x) or not x.requires_grad))
    if any(t._is_view() and (t is x or t._base is x) for t in map(s.env.get, s.tensors)):
        # Taking its memory away from a view or its base makes PyTorch's own history of them wrong.
        return f"{n}.data.mul_({s.number()})"
    return s.pick(
        (
            f"{n}.data = {m}.detach().clone()",
            f"{n}.data.copy_({n}.detach() * 2)",
            f"{n}.data.mul_({s.number()})",
            f"{n}.data = {m}.data",
        )
    )


def change_geometry(s: Source) -> str:
    n, x = s.tensor()
    kind = s.pick(("transpose_", "squeeze_", "unsqueeze_", "t_"))
    if kind == "t_" and x.dim() <= 2:
        return f"{n}.t_()"
    if kind == "squeeze_":
        return f"{n}.squeeze_()"
    if kind == "unsqueeze_" and x.dim() < 3:
        return f"{n}.unsqueeze_(0)"
    return f"{n}.transpose_({s.dim(x)}, {s.dim(x)})"


def change_size(s: Source) -> str:
    """Within the memory, or to more of it, which PyTorch does not clear."""
    n, x = s.tensor(lambda t: not t.requires_grad or s.chance(8))
    shape = s.pick(BASE_SHAPES)
    count = math.prod(shape)
    memory = x.untyped_storage()
    grows = count and x.storage_offset() + count > memory.nbytes() // x.itemsize
    if grows and not memory.resizable():  # where PyTorch raises, the tensor has its new size
        raise LookupError
    return f"{n}.resize_({shape})" + (f".fill_({s.number()})" if grows else "")


# -- autograd --------------------------------------------------------------------------------------


def autograd_flag(s: Source) -> str:
    # Whether the views that a tensor already has follow requires_grad_ depends on its version.
    n, _ = s.tensor(lambda t: not any(s.env[v]._base is t for v in s.tensors))
    return s.pick(
        (
            f"{n}.requires_grad_()",
            f"{n}.requires_grad_()",
            f"{n}.requires_grad_(False)",
            f"{n}.detach_()",
        )
    )


def takes_hooks(t: Any) -> Any:
    """Whole tensors only: PyTorch crashes on a hook for some views made under no_grad, and leaves
    out a view's hooks once its storage was written to."""
    return t.requires_grad and not t._is_view()


def autograd_hook(s: Source) -> str:
    n, _ = s.tensor(takes_hooks)
    record = f"{n}.register_hook(lambda g: calls.append(('{n}', tuple(g.shape))))"
    return s.pick((f"{n}.retain_grad()", f"{n}.register_hook(lambda g: g * 2)", record))


def second_order(s: Source) -> str:
    """A gradient that is itself recorded."""
    n, _ = s.tensor(lambda t: t.requires_grad and is_real(t))
    m, _ = s.tensor(lambda t: t.requires_grad and is_real(t))
    return (
        f"{s.new()} = torch.autograd.grad(({n} * {n}).sum(), {m}, create_graph=True, "
        "materialize_grads=True)[0].clone(memory_format=torch.contiguous_format)"
    )


def backward_now(s: Source) -> str:
    n, _ = s.tensor(lambda t: t.requires_grad and is_real(t))
    return f"({n} * 2).sum().backward(retain_graph=True)"


def custom_function(s: Source) -> str:
    n, x = s.tensor(is_real)
    kind = s.pick(("tripled", "product", "parts"))
    if kind == "product":
        n, x = s.tensor(lambda t: is_real(t) and t.dtype.is_floating_point)
        m, _ = s.tensor(lambda t: same_dtype_as(t, x) and size(t) == size(x))
        return f"{s.new()} = custom.product({n}, {m})"
    if kind == "parts":
        return f"{s.new()}, {s.new()} = custom.parts({n})"
    return f"{s.new()} = custom.tripled({n})"


def same_dtype_as(t: Any, x: Any) -> Any:
    return t.dtype == x.dtype


def branch(s: Source) -> str:
    """Python looks at a value."""
    n, _ = s.tensor(is_real)
    m, _ = s.tensor(is_real)
    # Not 0: numbers from -3 to 3 have sums and hyperbolic tangents that cancel but for rounding.
    return f"{s.new()} = {n} * 2 if {m}.detach().sum().item() > 0.3 else -{n}"


VIEWS = (
    view_permuting,
    view_reshaping,
    view_part,
    view_part,
    view_diagonal,
    view_windows,
    view_expanded,
    view_pieces,
)
VALUES = (unary, binary, reduction, copying, gathering)
WRITES = (
    write_number,
    write_unary,
    write_tensor,
    write_tensor,
    write_item,
    write_item,
    write_advanced,
)
AUTOGRAD = (autograd_flag, autograd_hook, backward_now, second_order)
#: The kinds with PyTorch as reference, as often as they stand here.
EVERYTHING = (
    leaf,
    *VIEWS,
    *VIEWS,
    casting,
    view_complex,
    view_strided,
    view_alias,
    *VALUES,
    joining,
    like,
    *WRITES,
    *WRITES,
    write_complex,
    write_out,
    share,
    write_array,
    replace_data,
    change_geometry,
    change_size,
    *AUTOGRAD,
    custom_function,
    custom_function,
    branch,
)
#: The kinds that the NumPy reference understands.
WITHOUT_AUTOGRAD = (
    leaf_plain,
    *VIEWS,
    view_strided,
    view_alias,
    unary,
    binary,
    reduction,
    copying,
    gathering_in_order,
    *WRITES,
    write_array,
    share,
)
