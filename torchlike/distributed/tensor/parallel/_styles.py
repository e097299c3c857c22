"""Tensor-parallel styles: where a module's parameters lie, and its inputs and outputs.

A style names placements; XLA finds the communication between them. On a mesh that spans processes a
plain tensor is what the process holds, and ``use_local_output`` gives such a tensor.

Differs from PyTorch: where all devices are this process', tensors are whole to the script,
``use_local_output`` changes nothing, and code between parallel modules sees whole sizes (all heads,
not a device's). A layout of an activation that does not divide is replicated; a parameter that does
not divide is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor._layouts import entering, laid_out, leaving
from torchlike.distributed.tensor._modules import distribute_module, place_parameter
from torchlike.distributed.tensor.placement_types import Placement, Replicate, Shard
from torchlike.nn.modules.linear import Linear
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.sparse import Embedding
from torchlike.tensor import Tensor

#: The positional arguments of a call.
Inputs = tuple[object, ...]


class ParallelStyle(ABC):
    """How ``parallelize_module`` treats one module."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Module:
        """Put the module onto the mesh, in place."""


def _with_first(
    inputs: tuple[Any, ...],
    mesh: DeviceMesh,
    given: Sequence[Placement],
    layouts: Sequence[Placement],
) -> Inputs:
    """Return the inputs of a call with the first one, which has the placements ``given``, laid
    out."""
    if not inputs or not isinstance(inputs[0], Tensor):
        return inputs
    return (laid_out(entering(inputs[0], mesh, given), mesh, layouts), *inputs[1:])


class _OfWeights(ParallelStyle):
    """A style that cuts the weights of a linear layer or an embedding."""

    #: Where weight and bias of a linear layer lie, and the weight of an embedding.
    linear: tuple[Placement, Placement]
    embedding: Placement

    def __init__(
        self, input_layouts: Placement, output_layouts: Placement, use_local_output: bool
    ) -> None:
        self.input_layouts: tuple[Placement, ...] = (input_layouts,)
        self.output_layouts: tuple[Placement, ...] = (output_layouts,)
        self.use_local_output = use_local_output
        self.desired_input_layouts: tuple[Placement, ...] = (Replicate(),)

    def _partition(self, name: str, module: Any, mesh: DeviceMesh) -> None:
        if isinstance(module, Linear):
            place_parameter(module, "weight", mesh, (self.linear[0],))
            place_parameter(module, "bias", mesh, (self.linear[1],))
        elif isinstance(module, Embedding):
            place_parameter(module, "weight", mesh, (self.embedding,))

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Module:
        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!"
            )
        desired = self._desired(module)

        def before(module: Any, inputs: Any, mesh: DeviceMesh) -> Inputs:
            return _with_first(inputs, mesh, self.input_layouts, desired)

        def after(module: Any, output: Tensor, mesh: DeviceMesh) -> Tensor:
            return leaving(laid_out(output, mesh, self.output_layouts), mesh, self.use_local_output)

        return distribute_module(module, device_mesh, self._partition, before, after)

    def _desired(self, module: Any) -> tuple[Placement, ...]:
        return self.desired_input_layouts

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts="
            f"{self.output_layouts}, use_local_output={self.use_local_output})"
        )


class ColwiseParallel(_OfWeights):
    """A linear layer's outputs cut, or an embedding's features. The input is replicated, the output
    cut in its last dimension. NotImplementedError for other modules."""

    linear = Shard(0), Shard(0)
    embedding = Shard(1)

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output
        )


class RowwiseParallel(_OfWeights):
    """A linear layer's inputs cut, or an embedding's rows. The input is cut in its last dimension,
    the output replicated. NotImplementedError for other modules."""

    linear = Shard(1), Replicate()
    embedding = Shard(0)

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output
        )

    def _desired(self, module: Any) -> tuple[Placement, ...]:
        return (Shard(-1),) if isinstance(module, Linear) else (Replicate(),)


class SequenceParallel(ParallelStyle):
    """Norms and dropout on a cut sequence: parameters are replicated, the input is cut in
    ``sequence_dim``. ValueError for an input that is no tensor."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding: tuple[Placement, ...] = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Module:
        def before(module: Any, inputs: Any, mesh: DeviceMesh) -> Inputs:
            if not isinstance(inputs[0], Tensor):
                raise ValueError(
                    f"expecting input of {module} to be a torch.Tensor or DTensor, but got "
                    f"{inputs[0]}"
                )
            sharding = self.sequence_sharding
            return _with_first(inputs, mesh, sharding, sharding)

        def after(module: Any, output: Tensor, mesh: DeviceMesh) -> Tensor:
            return leaving(output, mesh, self.use_local_output)

        return distribute_module(module, device_mesh, None, before, after)

    def __repr__(self) -> str:
        dim = vars(self.sequence_sharding[0])["dim"]
        return f"SequenceParallel(sequence_dim={dim}, use_local_output={self.use_local_output})"


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return (given,) if given is None or isinstance(given, Placement) else tuple(given)


def _each(
    values: Any,
    given_layouts: Any,
    layouts: tuple[Any, ...],
    mesh: DeviceMesh,
    what: str,
    use_local: bool,
) -> object:
    """Put values, each ``given`` in a layout, into another (None: as it is). ValueError where their
    numbers differ."""
    single = not isinstance(values, tuple)
    given = (values,) if single else values
    if len(given) != len(layouts):
        raise ValueError(f"module {what} and {what[:-1]}_layouts should have same length!")
    found = tuple(
        leaving(
            laid_out(entering(v, mesh, (before or Replicate(),)), mesh, (layout,)), mesh, use_local
        )
        if layout is not None and isinstance(v, Tensor)
        else v
        for v, before, layout in zip(given, given_layouts, layouts, strict=True)
    )
    return found[0] if single else found


class PrepareModuleInput(ParallelStyle):
    """Lays out a module's inputs, by position and by name. AssertionError where layouts and desired
    layouts differ in number, ValueError where the call has another number of inputs."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = None if input_layouts is None else _as_tuple(input_layouts)
        self.desired_input_layouts = (
            None if desired_input_layouts is None else _as_tuple(desired_input_layouts)
        )
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError(
                    "input_layouts and desired_input_layouts should have same length!"
                )
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(
            self.desired_input_kwarg_layouts
        ):
            raise AssertionError(
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"
            )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Module:
        def before(module: Any, args: Any, kwargs: Any) -> tuple[object, dict[str, object]]:
            if self.desired_input_layouts is not None and self.input_layouts is not None:
                args = _each(
                    args,
                    self.input_layouts,
                    self.desired_input_layouts,
                    device_mesh,
                    "inputs",
                    self.use_local_output,
                )
            wanted, given = self.desired_input_kwarg_layouts, self.input_kwarg_layouts
            found = {
                k: _each(
                    v,
                    (given.get(k),),
                    (wanted.get(k),),
                    device_mesh,
                    "inputs",
                    self.use_local_output,
                )
                if k in wanted
                else v
                for k, v in kwargs.items()
            }
            return args, found

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module

    def __repr__(self) -> str:
        return (
            f"PrepareModuleInput(input_layouts={self.input_layouts}, desired_input_layouts="
            f"{self.desired_input_layouts}, input_kwarg_layouts={self.input_kwarg_layouts}, "
            f"desired_input_kwarg_layouts={self.desired_input_kwarg_layouts}, use_local_output="
            f"{self.use_local_output})"
        )


class PrepareModuleOutput(ParallelStyle):
    """Lays out a module's outputs. AssertionError where layouts and desired layouts differ in
    number, ValueError where the call gives another number of outputs."""

    def __init__(
        self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True
    ) -> None:
        self.output_layouts = _as_tuple(output_layouts)
        self.desired_output_layouts = _as_tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(
                "output_layouts and desired_output_layouts should have same length!"
            )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(
            lambda m, inputs, outputs: _each(
                outputs,
                self.output_layouts,
                self.desired_output_layouts,
                device_mesh,
                "outputs",
                self.use_local_output,
            )
        )
        return module

    def __repr__(self) -> str:
        return (
            f"PrepareModuleOutput(output_layouts={self.output_layouts}, desired_output_layouts="
            f"{self.desired_output_layouts}, use_local_output={self.use_local_output})"
        )


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput in one."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
