"""The names of arguments, as PyTorch's schemas and functions have them: every overload's, and calls
by keyword against PyTorch."""

import collections
import inspect

import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")

#: Names that are no argument of a public function: the first one is given by position or as
#: `input`, the others are options that all functions share and other tests call.
NOT_COMPARED = {
    "device",
    "dimname",
    "dtype",
    "generator",
    "layout",
    "memory_format",
    "names",
    "out",
    "pin_memory",
    "requires_grad",
    "self",
}

_SYNONYM = "the argument has the schema's name as a second one: see CALLS"
_ONE = "dims_self and dims_other are one argument of the public function, dims"
_CUDA = "out_dtype, which PyTorch's CPU has no kernel for"
_BY_POSITION = "two forms of a call, told apart by position"
#: Functions with an argument that is not among their parameters, and why.
KNOWN = {
    "addmm": _CUDA,
    "baddbmm": _CUDA,
    "bmm": _CUDA,
    "mm": _CUDA,
    "copy_": _SYNONYM,
    "dot": _SYNONYM,
    "dsplit": _SYNONYM,
    "hsplit": _SYNONYM,
    "isin": _SYNONYM,
    "ormqr": _SYNONYM,
    "resize_as_": _SYNONYM,
    "result_type": _SYNONYM,
    "swapaxes": _SYNONYM,
    "split": _SYNONYM,
    "tensor_split": _SYNONYM,
    "tensordot": _ONE,
    "vsplit": _SYNONYM,
    "gru": _BY_POSITION,
    "lstm": _BY_POSITION,
    "rnn_relu": _BY_POSITION,
    "rnn_tanh": _BY_POSITION,
    "einsum": "PyTorch's Python function takes the tensors as *operands, too",
    "record_stream": "refused, whatever it is given",
    "resize": "refused, whatever it is given",
    "resize_as": "PyTorch's Python method calls it tensor, too",
    **dict.fromkeys(
        (f"_validate_sparse_{kind}_tensor_args" for kind in ("bsc", "bsr", "csc", "csr")),
        "without check_pinning: nothing is pinned",
    ),
    "_validate_sparse_compressed_tensor_args": "without check_pinning: nothing is pinned",
    "_grouped_mm": "torch.nn.functional.grouped_mm under another name",
    "_has_compatible_shallow_copy_type": "by position: `from` is a keyword of Python's",
}


def taken(function):
    """The names of a function's parameters; None where it takes any."""
    spec = getattr(function, "spec", None)
    if spec is not None:
        return set(spec.schema.names)
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in found):
        return None
    return {p.name for p in found}


def test_every_argument_of_a_schema_is_taken():
    schemas = collections.defaultdict(set)
    operators = set(torch._C._dispatch_get_all_op_names())
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        full = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        if namespace == "aten" and full in operators:
            schemas[name] |= {a.name for a in schema.arguments if not (a.kwarg_only and a.is_out)}
    compared, lacking = 0, set()
    for theirs, ours in ((torch, torchlike), (torch.Tensor, torchlike.Tensor)):
        for name in sorted(schemas):
            if not (hasattr(theirs, name) and hasattr(ours, name)):
                continue
            own = taken(getattr(ours, name))
            if own is None:
                continue
            arguments = {a for a in schemas[name] if a not in NOT_COMPARED}
            compared += len(arguments)
            lacking |= {name} if arguments - own else set()
    assert compared > 1500
    assert sorted(lacking) == sorted(KNOWN)


#: x is (3, 4), y (4,), b (2, 3, 3).
CALLS = """
x.tensor_split(indices=(1, 2))
t.tensor_split(x, sections=2, dim=1)
t.tensor_split(x, tensor_indices_or_sections=t.tensor([1]))
t.hsplit(x, sections=2)
x.hsplit(indices=[1])
x.vsplit(sections=3)
b.dsplit(indices=[1])
y.dot(tensor=y)
x.swapaxes(axis0=0, axis1=1)
t.swapdims(x, dim0=0, dim1=1)
t.ormqr(x[:, :3], input2=y[:3], input3=x)
t.ones(2).resize_as_(the_template=y).shape
t.result_type(tensor=x, other=1)
t.result_type(scalar=1, tensor=x)
t.result_type(scalar1=1, scalar2=1.)
t.promote_types(type1=t.int32, type2=t.float16)
t.isin(element=1, test_elements=y)
t.isin(elements=y, test_element=1)
t.stft(t.ones(16), 8, return_complex=True, center=False, align_to_window=True).shape
t.split(tensor=x, split_size_or_sections=1)
x.split(split_size=1)
x.split(split_size=[1, 2])
x.chunk(chunks=2)
t.inner(x, other=x).shape
x.unbind(dim=1)
t.ldexp(x, other=x).shape
x.clip(min=1, max=2)
x.repeat(repeats=(2, 1)).shape
x.repeat_interleave(repeats=2, dim=0).shape
x.expand(size=(2, 3, 4)).shape
x.view(size=(4, 3)).shape
x.permute(dims=(1, 0)).shape
x.reshape(shape=(2, 6)).shape
x.masked_fill(mask=x>2, value=1.)
x.roll(shifts=1, dims=0)
x.flip(dims=(0, ))
x.tile(dims=(2, 1)).shape
x.norm(p=2, dim=1)
x.movedim(source=0, destination=1).shape
t.moveaxis(x, source=0, destination=1).shape
y.unfold(dimension=0, size=2, step=1)
x.narrow(dim=0, start=0, length=1)
x.select(dim=0, index=1)
x.take(index=t.tensor([1]))
t.where(condition=x>1, input=x, other=x).shape
x.where(condition=x>1, other=x)
x.lerp(end=x, weight=.5)
x.std(dim=0, correction=0)
x.quantile(q=.5, dim=0, keepdim=True)
x.cumprod(dim=0)
t.bernoulli(input=x/20, generator=None).shape
x.clone().normal_(mean=0., std=1.).shape
x.clone().random_(to=3).shape
x.clone().random_(**{"from":1, "to":3}).shape
x.clone().uniform_(**{"from":0., "to":1.}).shape
x.clone().copy_(src=x)
x.type(dtype=t.float64).dtype
x.to(other=b).dtype
x.index_add(dim=0, index=t.tensor([0]), source=x[:1], alpha=2)
x.index_select(dim=0, index=t.tensor([0]))
x.index_fill(dim=0, index=t.tensor([0]), value=1.)
x.scatter(dim=0, index=t.zeros(1, 4, dtype=t.long), src=x)
x.scatter_reduce(dim=0, index=t.zeros(1, 4, dtype=t.long), src=x, reduce="sum")
x.diff(n=1, dim=0, prepend=x[:1])
x.topk(k=1, dim=1, largest=False, sorted=True)
t.cdist(x1=x, x2=x, p=2).shape
t.multinomial(input=y, num_samples=1, replacement=True).shape
t.nan_to_num(x, nan=0., posinf=1., neginf=0.)
t.bincount(input=y.long(), weights=y, minlength=2)
t.histc(x, bins=3, min=0, max=3)
t.bucketize(input=x, boundaries=y, right=True)
t.searchsorted(sorted_sequence=y, input=x, side="left")
t.logit(input=x/20, eps=.1)
t.addcmul(input=x, tensor1=x, tensor2=x, value=2)
t.baddbmm(input=b, batch1=b, batch2=b, beta=2, alpha=3)
x.renorm(p=2, dim=0, maxnorm=1)
t.cross(input=b, other=b, dim=1)
t.tril_indices(row=2, col=2, offset=0)
t.full(size=(2, ), fill_value=1.)
t.linspace(start=0, end=1, steps=3)
t.arange(start=0, end=3, step=1)
t.eye(n=2, m=3)
t.randperm(n=3).shape
t.randint(low=0, high=3, size=(2, )).shape
x.sum(axis=0)
x.mean(axis=0, keepdims=True)
x.max(axis=0).indices
x.argmax(axis=0)
(x>0).all(axis=0)
x.sort(stable=True, dim=0).indices
t.cat(tensors=(x, x), axis=0).shape
t.stack(tensors=(x, x), axis=0).shape
x.squeeze(axis=0).shape
x.cumsum(axis=0)
x.softmax(axis=0)
x.var(axis=0, unbiased=False)
x.amax(axis=0)
x.flatten(start_dim=0, end_dim=1)
x.gather(axis=0, index=t.zeros(1, 4, dtype=t.long))
"""


def call(t, expression):
    x, y, b = t.arange(12.0).view(3, 4), t.arange(4.0), t.ones(2, 3, 3)
    return eval(expression, {"t": t, "x": x, "y": y, "b": b})


@pytest.mark.parametrize("expression", CALLS.strip().splitlines())
def test_calls_by_keyword(expression):
    compare(lambda t: call(t, expression), words=0)
