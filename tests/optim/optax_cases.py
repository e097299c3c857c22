"""optax's aliases and combinators: how each is made, for the tests of ``Optax``.

A case is (name, function, hyperparameters); ``lr`` is the function's ``learning_rate``.
"""

import jax
import optax
from optax import contrib

LR = {"lr": 1e-2}

ALIASES = [
    (name, getattr(optax, name), {**LR, **more})
    for name, more in {
        "adabelief": {},
        "adadelta": {},
        "adafactor": {},
        "adagrad": {},
        "adam": {"nesterov": True},
        "adamax": {},
        "adamaxw": {"weight_decay": 0.1},
        "adamw": {"b1": 0.8},
        "adan": {},
        "amsgrad": {},
        "fromage": {},
        "lamb": {},
        "lars": {"weight_decay": 0.1},
        "lion": {},
        "nadam": {},
        "nadamw": {},
        "noisy_sgd": {"key": 0},
        "novograd": {},
        "optimistic_adam": {},
        "optimistic_adam_v2": {},
        "optimistic_gradient_descent": {},
        "radam": {},
        "rmsprop": {"centered": True, "momentum": 0.9},
        "rprop": {},
        "sgd": {"momentum": 0.9, "nesterov": True},
        "sign_sgd": {},
        "signum": {},
        "sm3": {},
        "yogi": {},
    }.items()
]
ALIASES += [("polyak_sgd", optax.polyak_sgd, {"max_learning_rate": 0.1})]

CONTRIB = [
    (f"contrib.{name}", getattr(contrib, name), more)
    for name, more in {
        "acprop": LR,
        "ademamix": LR,
        "adopt": LR,
        "cocob": {},
        "dadapt_adamw": {},
        "galore": {**LR, "rank": 2},
        "madgrad": LR,
        "momo": {},
        "momo_adam": {},
        "muon": LR,
        "prodigy": {},
        "schedule_free_adamw": {},
        "schedule_free_sgd": {"lr": 0.1},
        "simplified_ademamix": LR,
    }.items()
]


def _labels(params):
    return {name: "bias" if "bias" in name else "weight" for name in params}


def _is_weight(params):
    return {name: "weight" in name for name in params}


COMBINATORS = [
    (
        "chain",
        lambda learning_rate: optax.chain(
            optax.clip_by_global_norm(0.5),
            optax.scale_by_adam(),
            optax.scale_by_learning_rate(learning_rate),
        ),
        LR,
    ),
    (
        "named_chain",
        lambda: optax.named_chain(("clip", optax.clip(0.1)), ("sgd", optax.sgd(0.1))),
        {},
    ),
    (
        "masked",
        lambda: optax.chain(
            optax.masked(optax.add_decayed_weights(0.1), _is_weight), optax.sgd(0.1)
        ),
        {},
    ),
    (
        "multi_transform",
        lambda: optax.multi_transform(
            {"weight": optax.adam(1e-2), "bias": optax.sgd(1e-1)}, _labels
        ),
        {},
    ),
    (
        "partition",
        lambda: optax.partition({"weight": optax.adam(1e-2), "bias": optax.set_to_zero()}, _labels),
        {},
    ),
    (
        "selective_transform",
        lambda: optax.selective_transform(optax.adam(1e-2), freeze_mask=_is_weight),
        {},
    ),
    ("apply_if_finite", lambda: optax.apply_if_finite(optax.adam(1e-2), 3), {}),
    ("multi_steps", lambda: optax.MultiSteps(optax.adam(1e-2), 2).gradient_transformation(), {}),
    (
        "inject_hyperparams",
        lambda: optax.inject_hyperparams(optax.adam)(
            learning_rate=optax.linear_schedule(1e-2, 1e-3, 4), b1=0.8
        ),
        {},
    ),
    ("schedule", lambda: optax.adam(optax.cosine_decay_schedule(1e-2, 10)), {}),
    ("flatten", lambda: optax.flatten(optax.adam(1e-2)), {}),
    ("ema", lambda: optax.chain(optax.sgd(0.1), optax.ema(0.9)), {}),
    ("adaptive_grad_clip", lambda: optax.chain(optax.adaptive_grad_clip(0.1), optax.sgd(0.1)), {}),
    ("centralize", lambda: optax.chain(optax.centralize(), optax.sgd(0.1)), {}),
    ("trust_ratio", lambda: optax.chain(optax.scale_by_trust_ratio(), optax.sgd(0.1)), {}),
    ("dog", lambda: optax.chain(contrib.dog(1.0), optax.scale(1.0)), {}),
    ("dowg", lambda: contrib.dowg(1.0), {}),
    (
        "reduce_on_plateau",
        lambda: optax.chain(optax.adam(1e-2), contrib.reduce_on_plateau(patience=1)),
        {},
    ),
    ("mechanize", lambda: contrib.mechanize(optax.adam(1e-2)), {}),
    (
        "sam",
        lambda: contrib.sam(optax.sgd(0.1), optax.chain(contrib.normalize(), optax.sgd(0.05))),
        {},
    ),
    ("schedule_free", lambda: contrib.schedule_free(optax.sgd(0.1), 0.1), {}),
    (
        "keep_params_nonnegative",
        lambda: optax.chain(optax.sgd(0.1), optax.keep_params_nonnegative()),
        {},
    ),
    (
        "add_noise",
        lambda: optax.chain(optax.add_noise(0.1, 0.5, jax.random.key(3)), optax.sgd(0.1)),
        {},
    ),
]

#: Aliases that need more than a gradient and a value, and are tested by themselves.
BY_THEMSELVES = {"lbfgs", "dpsgd", "sophia"}

CASES = {name: (function, more) for name, function, more in (*ALIASES, *CONTRIB, *COMBINATORS)}


def made(name):
    """The transformation of a case as optax's users make it."""
    function, more = CASES[name]
    return function(**{"learning_rate" if k == "lr" else k: v for k, v in more.items()})
