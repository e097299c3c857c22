"""Examples of classes, for ``python -m tools.examples``: each is run, and its result is written."""

from __future__ import annotations

import contextlib
import io

import torchlike

_OPTIMIZER = ("w = torch.nn.Parameter(torch.ones(1))", "optimizer = torch.optim.SGD([w], lr=1.0)")
_RATE = "round(optimizer.param_groups[0]['lr'], 3)"

#: Schedulers that are made of an optimizer, by their further arguments.
_SCHEDULERS = {
    "StepLR": "step_size=2, gamma=0.1",
    "MultiStepLR": "milestones=[2, 3], gamma=0.5",
    "ConstantLR": "factor=0.5, total_iters=2",
    "LinearLR": "start_factor=0.25, total_iters=3",
    "ExponentialLR": "gamma=0.5",
    "PolynomialLR": "total_iters=4",
    "CosineAnnealingLR": "T_max=4",
    "CosineAnnealingWarmRestarts": "T_0=2",
    "LambdaLR": "lambda epoch: 1 / (1 + epoch)",
    "MultiplicativeLR": "lambda epoch: 0.9",
    "CyclicLR": "base_lr=0.1, max_lr=1.0, step_size_up=2, cycle_momentum=False",
    "OneCycleLR": "max_lr=1.0, total_steps=4, cycle_momentum=False",
}
#: Distributions: how each is made, and a value of it.
_DISTRIBUTIONS = {
    "Normal": ("0.0, 2.0", "torch.tensor(1.0)"),
    "Bernoulli": ("torch.tensor([0.25, 0.5])", "torch.tensor([1.0, 0.0])"),
    "Categorical": ("torch.tensor([0.25, 0.75])", "torch.tensor(1)"),
    "OneHotCategorical": ("torch.tensor([0.25, 0.75])", "torch.tensor([0.0, 1.0])"),
    "Binomial": ("4, torch.tensor(0.5)", "torch.tensor(2.0)"),
    "Multinomial": ("4, torch.tensor([0.25, 0.75])", "torch.tensor([1.0, 3.0])"),
    "Geometric": ("torch.tensor(0.5)", "torch.tensor(2.0)"),
    "NegativeBinomial": ("3, torch.tensor(0.5)", "torch.tensor(2.0)"),
    "Poisson": ("torch.tensor(2.0)", "torch.tensor(1.0)"),
    "Beta": ("2.0, 3.0", "torch.tensor(0.5)"),
    "Dirichlet": ("torch.tensor([1.0, 2.0])", "torch.tensor([0.25, 0.75])"),
    "Gamma": ("2.0, 1.0", "torch.tensor(1.0)"),
    "InverseGamma": ("torch.tensor(2.0), torch.tensor(1.0)", "torch.tensor(1.0)"),
    "Chi2": ("torch.tensor(2.0)", "torch.tensor(1.0)"),
    "StudentT": ("torch.tensor(3.0)", "torch.tensor(0.0)"),
    "FisherSnedecor": ("torch.tensor(2.0), torch.tensor(4.0)", "torch.tensor(1.0)"),
    "Exponential": ("torch.tensor(2.0)", "torch.tensor(1.0)"),
    "Laplace": ("0.0, 1.0", "torch.tensor(1.0)"),
    "Cauchy": ("0.0, 1.0", "torch.tensor(1.0)"),
    "HalfNormal": ("torch.tensor(1.0)", "torch.tensor(1.0)"),
    "HalfCauchy": ("torch.tensor(1.0)", "torch.tensor(1.0)"),
    "LogNormal": ("torch.tensor(0.0), torch.tensor(1.0)", "torch.tensor(1.0)"),
    "LogisticNormal": ("torch.zeros(1), torch.ones(1)", "torch.tensor([0.5, 0.5])"),
    "Gumbel": ("torch.tensor(0.0), torch.tensor(1.0)", "torch.tensor(0.0)"),
    "Weibull": ("torch.tensor(1.0), torch.tensor(1.0)", "torch.tensor(1.0)"),
    "Pareto": ("torch.tensor(1.0), torch.tensor(2.0)", "torch.tensor(2.0)"),
    "GeneralizedPareto": (
        "torch.tensor(0.0), torch.tensor(1.0), torch.tensor(0.5)",
        "torch.tensor(1.0)",
    ),
    "Kumaraswamy": ("torch.tensor(2.0), torch.tensor(2.0)", "torch.tensor(0.5)"),
    "Uniform": ("0.0, 4.0", "torch.tensor(1.0)"),
    "VonMises": ("torch.tensor(0.0), torch.tensor(1.0)", "torch.tensor(0.0)"),
    "ContinuousBernoulli": ("torch.tensor(0.25)", "torch.tensor(0.5)"),
    "MultivariateNormal": ("torch.zeros(2), torch.eye(2)", "torch.zeros(2)"),
    "LowRankMultivariateNormal": (
        "torch.zeros(2), torch.ones(2, 1), torch.ones(2)",
        "torch.zeros(2)",
    ),
    "RelaxedBernoulli": ("torch.tensor(0.5), torch.tensor(0.5)", "torch.tensor(0.25)"),
    "RelaxedOneHotCategorical": (
        "torch.tensor(0.5), torch.tensor([0.25, 0.75])",
        "torch.tensor([0.5, 0.5])",
    ),
}
_D = "torch.distributions."
_S = "torch.optim.lr_scheduler."
#: All others, line by line.
_OTHERS = {
    "SequentialLR": (
        *_OPTIMIZER,
        f"warmup = {_S}ConstantLR(optimizer, 0.1, total_iters=2)",
        f"decay = {_S}ExponentialLR(optimizer, 0.9)",
        f"scheduler = {_S}SequentialLR(optimizer, [warmup, decay], milestones=[2])",
        "for _ in range(3):\n    optimizer.step()\n    scheduler.step()",
        _RATE,
    ),
    "ChainedScheduler": (
        *_OPTIMIZER,
        f"first = {_S}ConstantLR(optimizer, 0.5, total_iters=2)",
        f"second = {_S}ExponentialLR(optimizer, 0.9)",
        f"scheduler = {_S}ChainedScheduler([first, second])",
        "optimizer.step()",
        "scheduler.step()",
        _RATE,
    ),
    "ReduceLROnPlateau": (
        *_OPTIMIZER,
        f"scheduler = {_S}ReduceLROnPlateau(optimizer, patience=1)",
        "for loss in (1.0, 1.0, 1.0):\n    scheduler.step(loss)",
        _RATE,
    ),
    "Independent": (
        f"normal = {_D}Normal(torch.zeros(3), torch.ones(3))",
        f"d = {_D}Independent(normal, 1)",
        "d.event_shape, d.log_prob(torch.zeros(3)).shape",
    ),
    "MixtureSameFamily": (
        f"which = {_D}Categorical(torch.tensor([0.5, 0.5]))",
        f"parts = {_D}Normal(torch.tensor([-1.0, 1.0]), torch.ones(2))",
        f"{_D}MixtureSameFamily(which, parts).mean",
    ),
    "TransformedDistribution": (
        f"normal = {_D}Normal(0.0, 1.0)",
        f"d = {_D}TransformedDistribution(normal, {_D}ExpTransform())",
        "d.log_prob(torch.tensor(1.0))",
    ),
}


def class_examples() -> dict[str, str]:
    """Run the examples; return their texts by the names of the classes."""
    rows = dict(_OTHERS)
    for name, arguments in _SCHEDULERS.items():
        made = f"scheduler = {_S}{name}(optimizer, {arguments})"
        steps = "rates = []\nfor _ in range(3):\n    optimizer.step()\n    scheduler.step()"
        begin, loop = steps.split("\n", 1)
        rows[name] = (*_OPTIMIZER, made, begin, f"{loop}\n    rates.append({_RATE})", "rates")
    for name, (arguments, value) in _DISTRIBUTIONS.items():
        made = f"d = {_D}{name}({arguments})"
        rows[name] = (made, "d.sample((3,)).shape", f"d.log_prob({value})")
    return {name: _run(lines) for name, lines in rows.items()}


def _run(lines: tuple[str, ...]) -> str:
    """Return lines as a session of Python's, with what they print."""
    known = {"torch": torchlike}
    torchlike.manual_seed(0)
    said: list[str] = []
    for line in lines:
        first, *more = line.split("\n")
        said += [f">>> {first}", *(f"... {part}" for part in more)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(line, "<example>", "single"), known)
        said += printed.getvalue().splitlines()
    return "\n".join(said)
