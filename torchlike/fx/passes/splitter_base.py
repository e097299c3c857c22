"""Splits a module into parts that run by turns on a backend and as they are."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torchlike.autograd.grad_mode import no_grad
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node
from torchlike.fx.passes.operator_support import OperatorSupportBase
from torchlike.fx.passes.shape_prop import ShapeProp
from torchlike.fx.passes.split_utils import split_by_tags
from torchlike.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    NodeList,
    NodeSet,
    get_node_target,
    is_node_output_tensor,
)
from torchlike.nn.modules.module import Module

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "SplitResult",
    "Subgraph",
    "generate_inputs_for_submodules",
]


class _SplitterSettingBase:
    """What a splitter is told.

    NotImplementedError for ``move_non_tensor_nodes_on_boundary``.

    Differs from PyTorch: the arguments of the command line are not read.
    """

    def __init__(
        self,
        min_acc_module_size: int = 1,
        skip_fusion: bool = False,
        allow_non_tensor: bool = False,
        max_acc_splits: int = -1,
        move_non_tensor_nodes_on_boundary: bool = False,
    ) -> None:
        if move_non_tensor_nodes_on_boundary:
            raise NotImplementedError(
                "move_non_tensor_nodes_on_boundary: nodes are not moved between parts. Use "
                "instead: skip_fusion=False, which keeps such nodes together"
            )
        self.min_acc_module_size, self.max_acc_splits = min_acc_module_size, max_acc_splits
        self.skip_fusion, self.allow_non_tensor = skip_fusion, allow_non_tensor
        self.move_non_tensor_nodes_on_boundary = False


class FxNetAccNodesFinder:
    """``finder()`` gives the nodes that a backend takes.

    Unless ``allow_non_tensor``, none of them takes from other nodes, or gives them, what is no
    tensor. ``ShapeProp`` must have noted the types.
    """

    def __init__(
        self, module: GraphModule, operator_support: OperatorSupportBase, allow_non_tensor: bool
    ) -> None:
        self.module, self.operator_support = module, operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes: NodeSet = set()

    def __call__(self) -> NodeSet:
        submodules = dict(self.module.named_modules())
        calls = [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]
        supported = self.operator_support.is_node_supported
        self.acc_nodes = {n for n in calls if supported(submodules, n)}
        if not self.allow_non_tensor:
            others = [n for n in calls if n not in self.acc_nodes]
            self._give_up_users([n for n in others if not is_node_output_tensor(n)])
            while left := [n for n in self.acc_nodes if self._leaves_values(n)]:
                self.acc_nodes.difference_update(left)
                self._give_up_users(left)
        return self.acc_nodes

    def _leaves_values(self, node: Node) -> bool:
        """Return whether a node passes something other than a tensor to a node that the backend
        lacks."""
        return not is_node_output_tensor(node) and any(u not in self.acc_nodes for u in node.users)

    def _give_up_users(self, nodes: NodeList) -> None:
        """Remove the users of these nodes from those for the backend, and so on from those that
        give no tensor."""
        ahead = list(nodes)
        while ahead:
            for user in ahead.pop().users:
                if user in self.acc_nodes:
                    self.acc_nodes.remove(user)
                    if not is_node_output_tensor(user):
                        ahead.append(user)


class FxNetSplitterInternalError(Exception):
    """A module could not be split."""


@dataclass
class Subgraph:
    """Nodes that run one after the other, on the backend (``is_acc``) or not."""

    is_acc: bool
    nodes: NodeList
    device_ordinal: int | None = None


class SplitResult(NamedTuple):
    """The split module, what its submodules are called with, and how those are named that do not
    run on the backend."""

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


def generate_inputs_for_submodules(
    model: Module, inputs: Sequence[Any], target_submodules: Iterable[str], deepcopy: bool = False
) -> dict[str, Any]:
    """Run the model on ``inputs`` and return the arguments that submodules get, by their names."""
    found: dict[str, Any] = {}
    wanted = set(target_submodules)

    def noting(name: str) -> Callable[[Any, Any], None]:
        def note(module: Any, given: Any) -> None:
            found[name] = copy.deepcopy(given) if deepcopy else given

        return note

    handles = [
        module.register_forward_pre_hook(noting(name))
        for name, module in model.named_modules()
        if name in wanted
    ]
    try:
        with no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


class _SplitterBase:
    """``splitter()`` gives a module of submodules ``_run_on_acc_N`` and ``_run_on_cpu_N``, as few
    as the order allows.

    Args:
      module: the module; its nodes are tagged and their shapes noted.
      sample_input: arguments to run it on.
      operator_support: says which nodes the backend takes.
      settings: ``_SplitterSettingBase``.
      non_acc_submodule_name: how the other submodules are named.
      return_tuple: submodules always return tuples.
      nodes_finder: finds the nodes, where ``FxNetAccNodesFinder`` shall not.

    FxNetSplitterInternalError where no order exists, and for a module that was split before.
    """

    def __init__(
        self,
        module: GraphModule,
        sample_input: Sequence[Any],
        operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_",
        return_tuple: bool = False,
        nodes_finder: Callable[[], NodeSet] | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        ShapeProp(module).propagate(*sample_input)
        self.module, self.sample_input = module, sample_input
        self.operator_support, self.settings = operator_support, settings
        if nodes_finder is None:
            nodes_finder = FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor)
        self.acc_nodes = nodes_finder()
        self.fusions: dict[Node, NodeSet] = {}
        if not settings.skip_fusion:
            self.fusions = FxNetAccFusionsFinder(module, self.acc_nodes)()
        self.deps = self.find_deps()
        self.update_deps_for_fusions()
        self.non_acc_submodule_name, self._return_tuple = non_acc_submodule_name, return_tuple
        self._node_submodule_map: dict[str, str] = {}
        self.tags: list[str] = []

    def get_node_submodule_map(self) -> dict[str, str]:
        """Return, by the names of nodes, the submodules that they are in."""
        return self._node_submodule_map

    def find_deps(self) -> dict[Node, NodeSet]:
        """Return, for each node, the calls whose results it uses."""
        found: dict[Node, NodeSet] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                for user in node.users:
                    if user.op != "output":
                        found[user].add(node)
        return found

    def update_deps_for_fusions(self) -> None:
        """Let the nodes of a group wait for what one of them waits for, and others for all of
        them."""
        for node, group in self.fusions.items():
            for other in group:
                self.deps[node] |= self.deps[other] - group
                for user in other.users:
                    if user not in group:
                        self.deps[user].add(node)

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """Group the nodes into parts, in the order in which they run: each takes all that can run
        by then."""
        waiting = {n: None for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS}
        done: NodeSet = set()
        found: list[Subgraph] = []
        on_backend = not any(n not in self.acc_nodes and not self.deps[n] for n in waiting)
        while waiting:
            part = Subgraph(on_backend, [])
            while node := self._next(waiting, done, part):
                del waiting[node]
                done.add(node)
                part.nodes.append(node)
            if not part.nodes:
                raise FxNetSplitterInternalError("Subgraph can't be empty")
            found.append(part)
            on_backend = not on_backend
        if not found:
            raise FxNetSplitterInternalError("Couldn't create subgraphs")
        return found

    def _next(self, waiting: dict[Node, None], done: NodeSet, part: Subgraph) -> Node | None:
        return next(
            (n for n in waiting if (n in self.acc_nodes) == part.is_acc and self.deps[n] <= done),
            None,
        )

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """Join the parts on the backend that are smaller than ``min_acc_module_size`` to what runs
        before them, and return the parts."""
        found: list[Subgraph] = []
        for part in subgraphs:
            small = part.is_acc and len(part.nodes) < self.settings.min_acc_module_size
            if found and (small or (not part.is_acc and not found[-1].is_acc)):
                found[-1].nodes.extend(part.nodes)
            else:
                part.is_acc = part.is_acc and not small
                found.append(part)
        return found

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Tag nodes with the names of their parts. Raises FxNetSplitterInternalError for a node
        that has one."""
        self.tags = []
        for number, part in enumerate(subgraphs):
            prefix = "_run_on_acc_" if part.is_acc else self.non_acc_submodule_name
            self.tags.append(f"{prefix}{number}")
            for node in part.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"Node {node} was already tagged")
                node.tag = self.tags[-1]
                self._node_submodule_map[node.name] = node.tag

    def split(self, remove_tag: bool = False) -> GraphModule:
        """Split the module by the tags; ``remove_tag`` removes them from the nodes."""
        made = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        for node in self.module.graph.nodes if remove_tag else ():
            if hasattr(node, "tag"):
                del node.tag
        assert isinstance(made, GraphModule)
        return made

    def __call__(self) -> GraphModule:
        parts = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        self.tag(parts)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """Return the split module, and the arguments of its submodules on the sample. Raises
        ValueError where there are more than ``max_acc_splits``."""
        made = self()
        names = [name for name, _ in made.named_children()]
        if 0 < self.settings.max_acc_splits < len(names):
            raise ValueError(
                "Cannot fulfill max_acc_splits limit. This may cause split fragmentation and "
                "result in performance issues."
            )
        inputs = generate_inputs_for_submodules(made, self.sample_input, names)
        return SplitResult(made, inputs, self.non_acc_submodule_name)

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """Print and return which kinds of calls the backend supports and which not, by target and
        dtypes. Raises NotImplementedError for ``dump_graph``."""
        if dump_graph:
            raise NotImplementedError(
                "node_support_preview(dump_graph=True): use torch.fx.passes.graph_drawer"
            )
        submodules = dict(self.module.named_modules())
        kinds: tuple[dict[str, None], dict[str, None]] = {}, {}
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                taken = self.operator_support.is_node_supported(submodules, node)
                line = f"{get_node_target(submodules, node)}: ({_dtypes(node)}, {_named(node)})\n"
                kinds[0 if taken else 1].setdefault(line)
        text = (
            f"\nSupported node types in the model:\n{''.join(kinds[0])}"
            f"\nUnsupported node types in the model:\n{''.join(kinds[1])}"
        )
        print(text)  # noqa: T201
        return text

    def split_preview(self, dump_graph: bool = False) -> str:
        """Raise NotImplementedError: split the module, and look at the parts."""
        raise NotImplementedError(
            "split_preview: throughput is not estimated. Use instead: generate_split_results() and "
            "node_support_preview()"
        )


def _dtype(arg: Any) -> Any:
    return getattr(arg.meta.get("tensor_meta"), "dtype", None) if isinstance(arg, Node) else None


def _dtypes(node: Node) -> tuple[Any, ...]:
    """Return the dtypes of arguments by position, without those at the end that are no tensors."""
    found = [_dtype(arg) for arg in node.args]
    while found and found[-1] is None:
        found.pop()
    return tuple(found)


def _named(node: Node) -> dict[str, Any]:
    return {name: _dtype(arg) for name, arg in node.kwargs.items() if isinstance(arg, Node)}
