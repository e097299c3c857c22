"""Programs of files that hold StableHLO and no graph: what ``torch.export.save`` wrote once."""

from __future__ import annotations

from typing import Any

from torchlike.export.exported_program import ExportedProgram
from torchlike.serialization.stablehlo.artifact import Artifact
from torchlike.serialization.stablehlo.loaded import LoadedModule, about_state
from torchlike.tensor import Tensor


class OlderProgram(ExportedProgram):
    """A program without a graph. What asks for the graph raises RuntimeError."""

    def __init__(self, artifact: Artifact, tensors: dict[str, Tensor], about: Any) -> None:
        self._artifact = artifact
        self._loaded = LoadedModule([artifact], tensors, about)
        self.example_inputs = None
        self.state_dict = self._loaded.state_dict()
        self.constants = {n: tensors[n] for n in about_state(self._loaded)["non_persistent"]}
        self.range_constraints = dict.fromkeys(about.get("constraints", []))

    def __getattr__(self, name: str) -> Any:
        if name in ("_graph_module", "graph_signature", "module_call_graph", "guards", "dialect"):
            raise RuntimeError(
                "this program was saved as StableHLO, without a graph: it runs "
                "(program.module()(...)); export the model again for the graph"
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def module(self, check_guards: bool = True) -> Any:
        """Return a module that runs the program; it has the state under its old names."""
        return self._loaded
