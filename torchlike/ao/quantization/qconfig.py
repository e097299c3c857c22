"""``QConfig``: with which modules a layer's inputs and weight are observed or rounded."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._core import dtypes
from torchlike.ao.quantization import fake_quantize as fake
from torchlike.ao.quantization import observer
from torchlike.nn.modules.module import Module


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Pair):
    """Makers of modules for inputs and weights: ``FakeQuantize.with_args(…)``, not instances.

    ValueError for an instance.
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)

    def __repr__(self) -> str:
        return f"QConfig(activation={self.activation!r}, weight={self.weight!r})"


default_qconfig = QConfig(observer.default_observer, observer.default_weight_observer)
default_per_channel_qconfig = QConfig(
    observer.default_observer, observer.default_per_channel_weight_observer
)
default_dynamic_qconfig = QConfig(
    observer.default_dynamic_quant_observer, observer.default_weight_observer
)
per_channel_dynamic_qconfig = QConfig(
    observer.default_dynamic_quant_observer, observer.default_per_channel_weight_observer
)
float16_dynamic_qconfig = QConfig(
    observer.PlaceholderObserver.with_args(dtype=dtypes.float16, is_dynamic=True),
    observer.PlaceholderObserver.with_args(dtype=dtypes.float16),
)
default_qat_qconfig = QConfig(fake.default_fake_quant, fake.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(
    fake.default_dynamic_fake_quant, fake.default_weight_fake_quant
)
_unquantized = observer.NoopObserver.with_args(dtype=dtypes.float32)
default_embedding_qat_qconfig = QConfig(_unquantized, fake.default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(_unquantized, fake.default_embedding_fake_quant_4bit)
default_qat_qconfig_v2 = QConfig(
    fake.default_fused_act_fake_quant, fake.default_fused_wt_fake_quant
)


def get_default_qat_qconfig(backend: str = "x86", version: int | None = 1) -> QConfig:
    """Return the fake quantizers for training towards an engine: "x86", "fbgemm", "onednn" or
    "qnnpack".

    version: 1 for fused modules, 0 for plain ones. AssertionError for another backend or version.
    """
    backends = ["fbgemm", "x86", "qnnpack", "onednn"]
    if backend not in backends:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {backends}")
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. "
            "Version number must be 0 or 1"
        )
    made = fake.FusedMovingAvgObsFakeQuantize if version else fake.FakeQuantize
    weights = {
        (0, True): fake.default_weight_fake_quant,
        (0, False): fake.default_per_channel_weight_fake_quant,
        (1, True): fake.default_fused_wt_fake_quant,
        (1, False): fake.default_fused_per_channel_wt_fake_quant,
    }
    # oneDNN sums in 32 bits, and needs no input of 7 bits.
    narrower = {} if backend == "onednn" else {"reduce_range": backend in ("fbgemm", "x86")}
    activation = made.with_args(
        observer=observer.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **narrower
    )
    return QConfig(activation, weights[version or 0, backend == "qnnpack"])
