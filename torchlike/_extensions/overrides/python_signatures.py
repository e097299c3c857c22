"""How PyTorch's functions that are written in Python pass themselves on to ``__torch_function__``.

A function of its compiled core hands over the arguments as they came, and no dictionary where there
are no keywords. One that is written in Python names all its arguments, the defaults too: a graph of
``relu(x)`` holds ``inplace=False``. The definition of such a function says so
(``python_signature=True``): it passes parameters without defaults by position, and the others by
keyword. Where that is not so, a line of text has what it passes by position, after the bar what by
keyword, and after the slash what it does not pass on. ``*spread``: a list after the first argument
is passed on as if its elements had been given. Methods of Tensor that are written in Python there
have such lines here.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import NamedTuple

from torchlike._core.dispatch.registry import PYTHON_FUNCTIONS


class Form(NamedTuple):
    """How one function passes itself on."""

    #: Names of its parameters in order, and the defaults.
    names: tuple[str, ...]
    defaults: dict[str, object]
    by_position: tuple[str, ...]
    by_keyword: tuple[str, ...]

    def passed(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]] | None:
        """Return the arguments as a call passes them on; None for those that the function
        refuses."""
        if self.by_position and self.by_position[0].startswith("*"):
            if self.by_position == ("*spread",) and len(args) == 2 and type(args[0]) is str:
                args = (args[0], *args[1]) if isinstance(args[1], (tuple, list)) else args
            return (args, {**self.defaults, **kwargs}) if args else None
        if len(args) > len(self.names) or not kwargs.keys() <= set(self.names[len(args) :]):
            return None
        values = {**self.defaults, **dict(zip(self.names, args, strict=False)), **kwargs}
        if any(name not in values for name in self.names):
            return None
        return (
            tuple([values[n] for n in self.by_position]),
            {n: values[n] for n in self.by_keyword},
        )


_TENSOR = """
__pow__: self other
__ipow__: self other
__array__: self | dtype=None
__array_wrap__: self | array
__contains__: self element
__deepcopy__: self memo
__dlpack__: self | stream=-1 max_version=None dl_device=None copy=None
__dlpack_device__: self
__floordiv__: self other
__format__: self format_spec
__len__: self
__rdiv__: self other
__reduce_ex__: self proto
__repr__: self | tensor_contents=None
__reversed__: self
__rfloordiv__: self other
__rlshift__: self other
__rmatmul__: self other
__rmod__: self other
__rpow__: self other
__rrshift__: self other
__rsub__: self other
__rtruediv__: self other
__setstate__: self state
backward: self | gradient=None retain_graph=None create_graph=False inputs=None
dim_order: self / ambiguity_check=False
is_shared: self
istft: self n_fft | hop_length=None win_length=None window=None center=True normalized=False
    onesided=None length=None return_complex=False
lu: self | pivot=True get_infos=False
module_load: self other | assign=False
norm: self | p='fro' dim=None keepdim=False dtype=None
register_hook: self hook
register_post_accumulate_grad_hook: self hook
share_memory_: self
split: self split_size | dim=0
stft: self n_fft | hop_length=None win_length=None window=None center=True pad_mode='reflect'
    normalized=False onesided=None return_complex=None align_to_window=None
storage: self
unflatten: self dim sizes
unique: self | sorted=True return_inverse=False return_counts=False dim=None
unique_consecutive: self | return_inverse=False return_counts=False dim=None
"""


def read(line: str) -> tuple[str, Form]:
    """Return the name and the form that a line describes."""
    name, _, rest = line.partition(": ")
    passed, _, dropped = rest.partition(" / ")
    positions, _, keywords = passed.partition(" | ")
    defaults: dict[str, object] = {}
    groups = []
    for group in (positions, keywords, dropped):
        names = []
        for item in group.split():
            own, equals, default = item.partition("=")
            names.append(own)
            if equals:
                defaults[own] = ast.literal_eval(default)
        groups.append(tuple(names))
    return name, Form(groups[0] + groups[1] + groups[2], defaults, groups[0], groups[1])


def names(space: str) -> frozenset[str]:
    """Return the functions of a namespace that PyTorch writes in Python."""
    return frozenset(PYTHON_FUNCTIONS.get(space, ()))


def form_of(space: str, name: str) -> Form:
    """Return the form of a function that PyTorch writes in Python. KeyError for another one."""
    return _form(name, *PYTHON_FUNCTIONS[space][name])


def of_function(function: Callable[..., object]) -> Form:
    """Return the form of a function that passes parameters without defaults by position, and the
    others by keyword."""
    defaults: dict[str, object] = {}
    positions, keywords = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positions.append(f"*{name}")
        elif parameter.default is parameter.empty:
            positions.append(name)
        else:
            keywords.append(name)
            defaults[name] = parameter.default
    return Form((*positions, *keywords), defaults, tuple(positions), tuple(keywords))


def table(room: str) -> dict[str, Form]:
    """Return the forms of a room by name: "nn.functional", "" (torch) or "Tensor"."""
    if room == "Tensor":
        lines = _TENSOR.replace("\n    ", " ").splitlines()
        return dict(read(line) for line in lines if line)
    declared = PYTHON_FUNCTIONS.get(room, {})
    return {name: _form(name, function, text) for name, (function, text) in declared.items()}


def _form(name: str, function: Callable[..., object], text: str | None) -> Form:
    if text is None:
        return of_function(function)
    form = read(f"{name}: {' '.join(text.split())}")[1]
    own = tuple(inspect.signature(function).parameters)
    # Arguments given by position are the signature's, in whatever order it names them to others.
    return form._replace(names=own) if set(own) == set(form.names) else form
