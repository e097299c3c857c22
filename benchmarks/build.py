"""From the name of a workload and a framework to a runner that can be timed.

Only the framework's own library is imported.
"""

from __future__ import annotations

import gc
import os
from typing import Any

from benchmarks.clock import Runner
from benchmarks.frameworks import CLEARING, UNCHECKED, Framework
from benchmarks.workloads import LONG, TRAINING
from benchmarks.workloads.common_ops import COMMON
from benchmarks.workloads.contract import JaxTraining, TorchTraining
from benchmarks.workloads.micro import AS_IT_IS, MICRO, Case, Transform


def import_library(framework: Framework) -> tuple[Any, str]:
    """Import the library, and return the module and its version; torchlike's with its allocator
    set."""
    library, version = _imported(framework)
    if framework.allocator == "tuned" and framework.library != "torchlike":
        gc.freeze()  # the part of torchlike's setting that no environment variable makes
    return library, version


def _imported(framework: Framework) -> tuple[Any, str]:
    if framework.library == "torch":
        import torch

        return torch, torch.__version__
    if framework.library == "torchlike":
        from torchlike.porting.allocator import tune_allocator

        tune_allocator()
        import torchlike

        torchlike.jit.set_warmup(0)  # what is measured is the program, from its first call on
        if not os.environ.get("TORCHLIKE_EAGER"):
            torchlike.deferred(False)  # eager means operation by operation
        return torchlike, getattr(torchlike, "__version__", "")
    import jax

    return jax, jax.__version__


def runner(framework: Framework, library: Any, workload: str) -> Runner:
    """Build `workload`, weights and inputs in place, nothing run yet."""
    case = MICRO.get(workload) or COMMON.get(workload)
    if case is not None:
        if framework.library == "jax":
            return _micro_in_jax(framework, library, case)
        return _micro_in_torch(framework, library, case)
    module = (TRAINING | LONG)[workload]
    problem = module.problem()
    if framework.name == "nnx":
        return training_in_jax(module.in_nnx(problem))
    if framework.library == "jax":
        return training_in_jax(module.in_jax(problem))
    return training_in_torch(framework, library, module.in_torch(library, problem))


def _transform(framework: Framework, library: Any) -> Transform:
    if not framework.compiled:
        return AS_IT_IS
    return library.compile if framework.library == "torch" else library.jit


def ready_torchlike(result: Any) -> None:
    """Wait for the arrays of a result, and give nothing: an array that outlives its tensor, if only
    until the caller drops it, is one that somebody holds, whose memory goes to no later result."""
    if isinstance(result, (tuple, list)):
        for part in result:
            ready_torchlike(part)
    elif hasattr(result, "jax"):  # what is no tensor (the bool of `equal`) was waited for
        result.jax().block_until_ready()


def _at_once(result: Any) -> object:
    """Return the result at once: PyTorch on the CPU returns when it is there, and a view has
    nothing to compute."""
    return result


def _micro_in_torch(framework: Framework, torch: Any, case: Case) -> Runner:
    tensors = [torch.tensor(a) for a in case.arrays()]
    step = case.in_torch(torch, _transform(framework, torch), *tensors)
    waits = framework.library == "torchlike" and not case.view
    wait = ready_torchlike if waits else _at_once
    return Runner(step, wait, wait_each=case.wait_each)


def _micro_in_jax(framework: Framework, jax: Any, case: Case) -> Runner:
    arrays = [jax.numpy.asarray(a) for a in case.arrays()]
    step = case.in_jax(_transform(framework, jax), *arrays)
    return Runner(step, jax.block_until_ready, wait_each=case.wait_each)


def torch_step(framework: Framework, torch: Any, net: TorchTraining) -> Any:
    """Return the training step ``(x, y) -> loss``, compiled as the framework does it."""
    optimizer, loss_of, update = net.optimizer, net.loss, net.optimizer.step
    if framework.compiled and framework.library == "torch":
        # What torch.compile can take: the forward pass with its loss, and the update.
        loss_of, update = torch.compile(loss_of), torch.compile(update)

    def step_fn(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        update()
        return loss

    def clearing(x: Any, y: Any) -> Any:
        loss = loss_of(x, y)
        loss.backward()
        update()
        optimizer.zero_grad()
        return loss

    if framework.name == CLEARING:
        return torch.jit(clearing)
    if framework.compiled and framework.library == "torchlike":
        return torch.jit(step_fn, checks=framework.name != UNCHECKED)
    return step_fn


def training_in_torch(framework: Framework, torch: Any, net: TorchTraining) -> Runner:
    call = torch_step(framework, torch, net)
    parameters = list(net.model.parameters())

    def finish() -> None:
        if framework.library == "torchlike":
            for p in parameters:
                ready_torchlike(p)

    return Runner(lambda: call(net.x, net.y), _value, value=_value, finish=finish)


def training_in_jax(net: JaxTraining) -> Runner:
    import jax

    params, opt_state = net.params, net.opt_state

    def step() -> Any:
        nonlocal params, opt_state
        params, opt_state, loss = net.step(params, opt_state, net.x, net.y)
        return loss

    return Runner(
        step, _value, value=_value, finish=lambda: jax.block_until_ready(jax.tree.leaves(params))
    )


def _value(loss: Any) -> float:
    return loss.item()
