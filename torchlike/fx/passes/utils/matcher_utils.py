"""Finds where in a graph a pattern graph occurs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torchlike.fx.graph import Graph
from torchlike.fx.node import Argument, Node
from torchlike.fx.passes.utils._partitions import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place: nodes of the pattern and the graph's nodes for them."""

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors,
            dict(self.nodes_map),
            list(self.placeholder_nodes),
            list(self.returning_nodes),
            dict(self.name_node_map),
        )


class SubgraphMatcher:
    """Matches one pattern: ``match(graph)`` gives the places.

    ``match_output``: also what uses the results; ``match_placeholder``: placeholders only match
    placeholders; ``remove_overlapping_matches``: no node is in two places; ``ignore_literals``:
    numbers in the pattern match any.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = list(output.all_input_nodes)
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the matches of the pattern in a graph, from the first on."""
        matches: list[InternalMatch] = [InternalMatch(anchors=[])]
        for anchor in self.pattern_anchors:
            candidates = [n for n in graph.nodes if self._nodes_equal(anchor, n, node_name_match)]
            found = []
            for candidate in candidates:
                for before in matches:
                    trial = before.__copy__()
                    trial.anchors = [*before.anchors, candidate]
                    if self._match(anchor, candidate, trial):
                        found.append(trial)
            matches = found
        whole = [m for m in (self._completed(m) for m in matches) if m is not None]
        whole = [m for m in whole if self._contained(m.nodes_map) and _one_piece(m)]
        return self._without_overlaps(whole) if self.remove_overlapping_matches else whole

    def _completed(self, match: InternalMatch) -> InternalMatch | None:
        if any(n not in match.nodes_map for n in self.pattern_placeholder_nodes):
            return None
        match.placeholder_nodes = [match.nodes_map[n] for n in self.pattern_placeholder_nodes]
        if any(n not in match.nodes_map for n in self.pattern_returning_nodes):
            return None
        match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
        return match

    def _without_overlaps(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        kept, taken = [], set()
        for match in matches:
            own = {
                g
                for p, g in match.nodes_map.items()
                if p.op not in ("placeholder", "output") and isinstance(g, Node)
            }
            if not own & taken:
                kept.append(match)
                taken |= own
        return kept

    def _contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Return whether nothing outside a match uses what lies inside, but for the results."""
        inside = {g: p for p, g in nodes_map.items() if isinstance(g, Node)}
        for mine, pattern in inside.items():
            if pattern.op == "placeholder" or pattern in self.pattern_returning_nodes:
                continue
            if any(user not in inside for user in mine.users):
                return False
        return True

    def _attributes_equal(self, pattern: Node, mine: Node) -> bool:
        def value(node: Node) -> Argument:
            here: Any = node.graph.owning_module
            for part in node.target.split("."):
                here = getattr(here, part, None)
            return here

        return type(value(pattern)) is type(value(mine))

    def _nodes_equal(self, pattern: Node, mine: Node, node_name_match: str = "") -> bool:
        if node_name_match and node_name_match in mine.name:
            return True
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != mine.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return self._attributes_equal(pattern, mine)
        if pattern.op == "call_module":
            modules = [
                n.graph.owning_module.get_submodule(n.target)
                if n.graph.owning_module is not None
                else n.target
                for n in (pattern, mine)
            ]
            if isinstance(modules[0], str) or isinstance(modules[1], str):
                return pattern.target == mine.target
            return type(modules[0]) is type(modules[1])
        return pattern.target == mine.target

    def _literals_equal(self, pattern: Any, mine: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, Node):
            if pattern in match.nodes_map:
                return match.nodes_map[pattern] == mine
            if pattern.op == "placeholder" and not self.match_placeholder:
                match.nodes_map[pattern] = mine  # a number in the place of an argument
                return True
            return False
        if isinstance(mine, Node):
            return False
        return self.ignore_literals or (type(pattern) is type(mine) and pattern == mine)

    def _match(self, pattern: Node, mine: Node, match: InternalMatch) -> bool:
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is mine
        if mine in [g for g in match.nodes_map.values() if isinstance(g, Node)] and (
            pattern.op != "placeholder"
        ):
            return False
        if not self._nodes_equal(pattern, mine):
            return False
        match.nodes_map[pattern] = mine
        if pattern.op == "placeholder":
            return True
        if self._match_arguments(pattern, mine, match):
            return True
        match.nodes_map.pop(pattern)
        return False

    def _match_arguments(self, pattern: Node, mine: Node, match: InternalMatch) -> bool:
        theirs, own = (pattern.args, dict(pattern.kwargs)), (mine.args, dict(mine.kwargs))
        if len(theirs[0]) != len(own[0]) or theirs[1].keys() != own[1].keys():
            theirs, own = _by_name(pattern), _by_name(mine)
        if len(theirs[0]) != len(own[0]) or theirs[1].keys() != own[1].keys():
            return False
        pairs = list(zip(theirs[0], own[0], strict=True))
        pairs += [(theirs[1][k], own[1][k]) for k in theirs[1]]
        return all(self._match_value(a, b, match) for a, b in pairs)

    def _match_value(self, pattern: Any, mine: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, Node) and isinstance(mine, Node):
            return self._match(pattern, mine, match)
        if isinstance(pattern, (list, tuple)) and isinstance(mine, (list, tuple)):
            return len(pattern) == len(mine) and all(
                self._match_value(a, b, match) for a, b in zip(pattern, mine, strict=True)
            )
        if isinstance(pattern, dict) and isinstance(mine, dict):
            return pattern.keys() == mine.keys() and all(
                self._match_value(pattern[k], mine[k], match) for k in pattern
            )
        return self._literals_equal(pattern, mine, match)


def _one_piece(match: InternalMatch) -> bool:
    """Return whether one node could stand for the nodes of a match: no path leads out of them and
    back."""
    pairs = match.nodes_map.items()
    return validate_partition(
        [g for p, g in pairs if p.op not in ("placeholder", "output") and isinstance(g, Node)]
    )


def _by_name(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a node's arguments by name, with the defaults of an operator."""
    schema = getattr(node.target, "_schema", None)
    if schema is not None:
        given = dict(zip((a.name for a in schema.arguments), node.args, strict=False))
        defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
        return (), {**defaults, **given, **node.kwargs}
    return (), {**{str(i): a for i, a in enumerate(node.args)}, **node.kwargs}
