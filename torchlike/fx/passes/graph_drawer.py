"""A module's graph in the language of Graphviz."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from torchlike._runtime import whole_files
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node, _format_arg

__all__ = ["FxGraphDrawer"]

_COLORS_TEXT = """
AliceBlue Aquamarine1 Bisque1 Burlywood1 CadetBlue1 Cornsilk1 Gold1 DarkOliveGreen1 Khaki1
LightBlue1 LightPink1 LightSalmon1 PaleGreen1 Thistle1
"""
_COLORS = tuple(_COLORS_TEXT.split())


class _Dot:
    """A drawing as text; ``create_svg`` and ``write_png`` need Graphviz."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def to_string(self) -> str:
        """Return the text, as Graphviz reads it."""
        return "\n".join(self._lines) + "\n"

    create_dot = to_string

    def write(self, path: str, **kwargs: Any) -> None:
        """Write the text to a file."""
        whole_files.write_text(path, self.to_string())

    write_raw = write

    def create_svg(self) -> bytes:
        """Raise NotImplementedError: ``dot -Tsvg`` makes a picture of ``to_string()``."""
        raise NotImplementedError("create_svg: run `dot -Tsvg` on the text of to_string()")

    write_png = write_svg = create_svg


class FxGraphDrawer:
    """``FxGraphDrawer(gm, "name").get_dot_graph()`` is the drawing; ``to_string()`` its text."""

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        self._name = name
        self._skip = skip_node_names_in_args
        self._shape = dot_graph_shape or "record"
        self._drawings = {name: self._draw(graph_module, name, ignore_getattr)}
        for path, module in graph_module.named_modules():
            if path and isinstance(module, GraphModule):
                self._drawings[f"{name}_{path}"] = self._draw(module, name, ignore_getattr)

    def get_dot_graph(self, submod_name: str | None = None) -> _Dot:
        """Return the drawing of the module, or of a GraphModule in it."""
        return self._drawings[self._name if submod_name is None else f"{self._name}_{submod_name}"]

    def get_main_dot_graph(self) -> _Dot:
        """Return the drawing of the module."""
        return self._drawings[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> _Dot:
        """Return the drawing of a submodule."""
        return self._drawings[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, _Dot]:
        """Return all drawings, by name."""
        return self._drawings

    def _label(self, module: GraphModule, node: Node) -> str:
        parts = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            parts[1] += f"\\l{type(module.get_submodule(node.target)).__name__}"
        else:
            parts.append(f"target={node._pretty_print_target(node.target)}")
            if self._skip:
                parts.append(f"args={_format_arg(node.args)}")
        parts.append(f"num_users={len(node.users)}")
        meta = node.meta.get("tensor_meta")
        if meta is not None and hasattr(meta, "dtype"):
            parts += [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}"]
        text = "|".join(re.sub(r'([|<>{}"])', r"\\\1", p) for p in parts)
        return "{" + text + "\\n}"

    def _draw(self, module: GraphModule, name: str, ignore_getattr: bool) -> _Dot:
        lines = [f'digraph "{name}" {{', "rankdir=TB;"]
        nodes = [n for n in module.graph.nodes if not (ignore_getattr and n.op == "get_attr")]
        for node in nodes:
            digest = hashlib.md5(str(node.target).encode(), usedforsecurity=False).digest()
            color = _COLORS[digest[0] % len(_COLORS)] if node.op.startswith("call") else "white"
            lines.append(
                f'"{node.name}" [shape={self._shape}, fillcolor={color}, style="filled,rounded", '
                f'label="{self._label(module, node)}"];'
            )
        for node in nodes:
            lines += [f'"{node.name}" -> "{user.name}";' for user in node.users]
        return _Dot([*lines, "}"])
