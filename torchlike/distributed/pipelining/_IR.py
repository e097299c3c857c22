"""``pipeline``: a model cut into stages where it says so, by tracing it with ``torch.fx``.

A value that a later stage needs travels through the stages between, so each stage talks to its
neighbours alone.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.pipelining.stage import PipelineStage
from torchlike.fx import Graph, GraphModule, Node, Tracer
from torchlike.fx.passes.split_module import split_module
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor


class SplitPoint(enum.Enum):
    """Before or after which submodule a stage begins."""

    BEGINNING = 1
    END = 2


class PipeInfo(NamedTuple):
    """What ``Pipe.info`` tells."""

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool = False


class _Cutting(Tracer):
    """Traces a model, and notes in its graph where it is to be cut."""

    #: The one that traces now.
    active: _Cutting | None = None

    def __init__(self, spec: dict[str, SplitPoint]) -> None:
        super().__init__()
        self._spec = spec

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether a module is traced as one call: those of torch.nn are, but for those in
        which a cut lies."""
        inside = f"{module_qualified_name}."
        return super().is_leaf_module(m, module_qualified_name) and not any(
            name.startswith(inside) for name in self._spec
        )

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Record the call, with a mark before or behind it where a stage begins or ends."""
        point = self._spec.get(self.path_of_module(m))
        if point is SplitPoint.BEGINNING:
            self.mark()
        result = super().call_module(m, forward, args, kwargs)
        if point is SplitPoint.END:
            self.mark()
        return result

    def mark(self) -> None:
        self.create_node("call_function", pipe_split, (), {})


def pipe_split() -> None:
    """End a stage here, in a ``forward`` that ``pipeline`` cuts; do nothing elsewhere."""
    if _Cutting.active is not None:
        _Cutting.active.mark()


class _Values(NamedTuple):
    """What a stage passes on, by name."""

    names: list[str]


class _Stage(Module):
    """A part of a model that takes what the stage before passes on, and gives the next one's."""

    def __init__(
        self, part: Module, takes: list[str], uses: list[str], makes: list[str], result: Any
    ) -> None:
        super().__init__()
        for name, child in part.named_children():
            self.add_module(name, child)
        for name, parameter in part.named_parameters(recurse=False):
            self.register_parameter(name, parameter)
        for name, buffer in part.named_buffers(recurse=False):
            self.register_buffer(name, buffer)
        self._run, self._takes, self._uses = [part], takes, uses
        self._makes, self._result = makes, result

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute this part of the model."""
        held = {**dict(zip(self._takes, args, strict=False)), **kwargs}
        missing = [name for name in self._uses if name not in held]
        if missing:
            raise TypeError(f"missing {', '.join(missing)} of ({', '.join(self._takes)})")
        result = self._run[0](*(held[name] for name in self._uses))
        made = (result,) if len(self._makes) == 1 else result
        held.update(zip(self._makes, made, strict=True))
        if isinstance(self._result, _Values):
            given = tuple(held[name] for name in self._result.names)
            return given[0] if len(given) == 1 else given
        return _filled(self._result, held)


def _filled(result: Any, held: dict[str, Any]) -> Any:
    """Return the model's result, with values in the places of nodes."""
    if isinstance(result, Node):
        return held[result.name]
    if isinstance(result, dict):
        return {k: _filled(v, held) for k, v in result.items()}
    if isinstance(result, list):
        return [_filled(v, held) for v in result]
    if isinstance(result, tuple):
        return tuple(_filled(v, held) for v in result)
    return result


class Pipe(Module):
    """A model in stages; called, it computes them one after the other in this process."""

    def __init__(self, split_gm: GraphModule, stages: list[Module]) -> None:
        super().__init__()
        self.split_gm, self.num_stages = split_gm, len(stages)
        for i, stage in enumerate(stages):
            self.add_module(f"stage_{i}", stage)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the whole model's result."""
        value = self.get_stage_module(0)(*args, **kwargs)
        for i in range(1, self.num_stages):
            value = self.get_stage_module(i)(*(value if isinstance(value, tuple) else (value,)))
        return value

    def get_stage_module(self, stage_idx: int) -> Module:
        """Return a stage's part of the model. ValueError for an index that is none's."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self, f"stage_{stage_idx}")

    def info(self) -> PipeInfo:
        """Return the graph of the stages, and how many there are."""
        return PipeInfo(self.split_gm.graph, self.num_stages)

    def build_stage(
        self, stage_index: int, device: Any, group: ProcessGroup | None = None
    ) -> PipelineStage:
        """Make a stage for a schedule."""
        module = self.get_stage_module(stage_index).to(device)
        return PipelineStage(module, stage_index, self.num_stages, device, group=group)


def pipeline(
    module: Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:
    """Cut a model into stages.

    Args:
        module: The model.
        mb_args, mb_kwargs: Arguments of one microbatch.
        split_spec: Names of submodules, and whether a stage begins before or after each.
        split_policy: Puts calls of ``pipe_split`` into the graph itself.

    Raises:
        ValueError: both of the last are given.
        AttributeError: there is no submodule of a name.
        NotImplementedError: torch.fx cannot trace the model, or two stages share a parameter.

    Differs from PyTorch: the model is traced by ``torch.fx.symbolic_trace``, not exported, so
    submodules of ``torch.nn`` stay as they are, and a ``forward`` that decides by values of tensors
    or by their shapes cannot be cut.
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError(
            "Cannot specify both `split_spec` and `split_policy`. Please use only one of them."
        )
    for name in split_spec or {}:
        module.get_submodule(name)
    tracer = _Cutting(split_spec or {})
    unused = [n for n in _names(module) if n not in (mb_kwargs or {})][len(mb_args) :]
    defaults = _defaults(module)
    _Cutting.active = tracer
    try:
        graph = tracer.trace(module, {n: defaults[n] for n in unused if n in defaults} or None)
    except (TypeError, RuntimeError, ValueError) as error:
        raise NotImplementedError(
            f"pipeline(): torch.fx cannot trace {type(module).__name__}: {error}. Use instead: "
            "PipelineStage with the stage's part of the model"
        ) from error
    finally:
        _Cutting.active = None
    _drop(
        graph,
        [
            n
            for n, name in zip(
                [n for n in graph.nodes if n.op == "placeholder"], _names(module), strict=False
            )
            if name in unused and name in defaults
        ],
    )
    traced = GraphModule(module, graph)
    if split_policy is not None:
        traced = split_policy(traced)
    return _cut(traced)


def _drop(graph: Graph, defaulted: list[Node]) -> None:
    """Remove arguments that keep their default, and what checks that they do."""
    for argument in defaulted:
        for user in list(argument.users):
            if not user.users:
                graph.erase_node(user)
        if not argument.users:
            graph.erase_node(argument)


def _signature(module: Module) -> Any:
    return inspect.signature(module.forward).parameters


def _names(module: Module) -> list[str]:
    return list(_signature(module))


def _defaults(module: Module) -> dict[str, Any]:
    found = _signature(module)
    return {n: p.default for n, p in found.items() if p.default is not p.empty}


def _cut(traced: GraphModule) -> Pipe:
    part: dict[Node, int] = {}
    at = 0
    for node in list(traced.graph.nodes):
        if node.op == "call_function" and node.target is pipe_split:
            traced.graph.erase_node(node)
            at += 1
        else:
            part[node] = at
    traced.recompile()
    origins: dict[str, str] = {}
    split = split_module(traced, traced, lambda node: part[node], origins, keep_original_order=True)
    pieces = dict(split.named_children())
    for call in [n for n in split.graph.nodes if n.op == "call_module"]:
        name = str(call.target)
        piece = pieces[name]
        _restore_names(piece.graph, name, origins)
        _take_attributes(call, piece.graph)
        setattr(split, name, GraphModule(traced, piece.graph))
    return Pipe(split, _stages(split))


def _take_attributes(call: Node, graph: Graph) -> None:
    """Have a part read the model's own parameters and buffers itself, in place of being given
    them."""
    places = [n for n in graph.nodes if n.op == "placeholder"]
    for value, place in zip(call.args, places, strict=True):
        if isinstance(value, Node) and value.op == "get_attr":
            place.op, place.target = "get_attr", value.target
    call.args = tuple(a for a in call.args if not (isinstance(a, Node) and a.op == "get_attr"))


def _restore_names(graph: Graph, part: str, origins: dict[str, str]) -> None:
    """Have a part's submodules and parameters under their names in the model, which checkpoints
    know."""
    for node in graph.nodes:
        if node.op in ("call_module", "get_attr"):
            node.target = origins.get(f"{part}.{node.target}", node.target)


def _stages(split: GraphModule) -> list[Module]:
    calls = [n for n in split.graph.nodes if n.op == "call_module"]
    _refuse_shared([(str(c.target), split.get_submodule(str(c.target))) for c in calls])
    made = _made_by(split)
    end = next(n for n in split.graph.nodes if n.op == "output")
    ends = [n.name for n in end.all_input_nodes]
    uses = [[a.name for a in c.all_input_nodes] for c in calls]
    inputs = [n.name for n in split.graph.nodes if n.op == "placeholder"]
    stages: list[Module] = []
    takes = inputs
    for i, call in enumerate(calls):
        makes = [n.name for n in made[call]]
        later = {name for used in [*uses[i + 1 :], ends] for name in used}
        gives = [n for n in dict.fromkeys([*makes, *takes]) if n in later]
        result = end.args[0] if i == len(calls) - 1 else _Values(gives)
        part = split.get_submodule(str(call.target))
        stages.append(_Stage(part, takes, uses[i], makes, result))
        takes = gives
    return stages


def _made_by(split: GraphModule) -> dict[Node, list[Node]]:
    """Return the values that each part gives: itself, or what is taken out of it by index, in
    order."""
    made: dict[Node, list[Node]] = {}
    for node in split.graph.nodes:
        if node.op == "call_module":
            made[node] = [node]
        elif node.op == "call_function":  # getitem
            source, index = node.args
            if made[source] == [source]:
                made[source] = []
            assert index == len(made[source])
            made[source].append(node)
    return made


def _refuse_shared(parts: list[tuple[str, Module]]) -> None:
    owner: dict[Tensor, str] = {}
    for name, part in parts:
        for parameter_name, parameter in part.named_parameters():
            first = owner.setdefault(parameter, name)
            if first != name:
                raise NotImplementedError(
                    f"pipeline(): {parameter_name} is used in two stages ({first}, {name}), whose "
                    "ranks would each train their own. Use instead: a parameter for each, and an "
                    "all_reduce of their gradients"
                )
