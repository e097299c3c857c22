"""python -m tools.trace_models torch|torchlike OUT.json [SECONDS]: graphs of models of timm and
torchvision, and what they compute; python -m tools.trace_models compare A.json B.json.

Needs both packages (installed without their dependencies). Models whose control flow depends on
values are listed with the error, which should be the same in both libraries.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

TORCHVISION = """
    alexnet vgg11 vgg11_bn resnet18 resnet50 resnext50_32x4d wide_resnet50_2 squeezenet1_0
    squeezenet1_1 densenet121 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large shufflenet_v2_x0_5
    shufflenet_v2_x1_0 mnasnet0_5 mnasnet1_0 efficientnet_b0 efficientnet_v2_s regnet_y_400mf
    regnet_x_400mf convnext_tiny googlenet vit_b_16 swin_t inception_v3 maxvit_t"""
TIMM = """resnet18 resnet26d mobilenetv2_100 mobilenetv3_small_100 efficientnet_lite0
    vit_tiny_patch16_224 deit_tiny_patch16_224 convnext_atto mixer_s32_224 resmlp_12_224
    gmlp_ti16_224 regnetx_002 regnety_002 ghostnet_100 hardcorenas_a mnasnet_small spnasnet_100
    tinynet_e lcnet_050 semnasnet_075 dla34 res2net50_26w_4s selecsls42 skresnet18
    legacy_seresnet18 convmixer_768_32 poolformer_s12 repvgg_a0 xcit_nano_12_p16_224 pit_ti_224
    levit_128s coat_tiny edgenext_xx_small fbnetc_100 densenet121 vgg11 cspresnet50 darknet53
    hrnet_w18_small ese_vovnet19b_dw"""


def libraries(which: str) -> tuple[Any, Any, Any]:
    """Import the library as ``torch``, torchvision's models, and timm."""
    if which == "torchlike":
        importlib.import_module("torchlike").install_alias()
    torch = importlib.import_module("torch")
    if which == "torch":
        # Where torchvision's compiled library does not load, importing it needs these names alone.
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return torch, importlib.import_module("torchvision.models"), importlib.import_module("timm")


def model(package: str, name: str, vision: Any, timm: Any) -> Any:
    """Make a model without trained weights."""
    if package == "timm":
        return timm.create_model(name, pretrained=False).eval()
    own = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return getattr(vision, name)(weights=None, **own).eval()


def traced(torch: Any, made: Any, side: int) -> dict[str, Any]:
    """Trace a model, and return the graph's text and source, and the first numbers of the
    result."""
    module = torch.fx.symbolic_trace(made)
    torch.manual_seed(1)
    with torch.no_grad():
        result = module(torch.rand(1, 3, side, side))
    result = result if isinstance(result, torch.Tensor) else result[0]
    return {
        "nodes": len(module.graph.nodes),
        "graph": str(module.graph),
        "code": module.code,
        "result": result.flatten()[:50].tolist(),
    }


def collect(which: str, path: Path, seconds: float) -> None:
    """Trace all models, as many as the time allows."""
    warnings.simplefilter("ignore")
    torch, vision, timm = libraries(which)
    found: dict[str, Any] = {}
    end = time.monotonic() + seconds
    for package, names in (("torchvision", TORCHVISION), ("timm", TIMM)):
        for name in names.split():
            if time.monotonic() > end:
                break
            torch.manual_seed(0)
            try:
                side = 299 if name == "inception_v3" else 224
                entry = traced(torch, model(package, name, vision, timm), side)
            except Exception as error:
                entry = {"error": f"{type(error).__name__}: {error}"}
            found[f"{package}/{name}"] = entry
            path.write_text(json.dumps(found))


def compare(first: Path, second: Path) -> None:
    """Print how many graphs, sources and results of two files agree."""
    a, b = json.loads(first.read_text()), json.loads(second.read_text())
    both = [k for k in a if k in b]
    whole = [k for k in both if "error" not in a[k] and "error" not in b[k]]
    for key in both:
        if key not in whole:
            print(key, a[key].get("error"), "|", b[key].get("error"))
    for what in ("nodes", "graph", "code"):
        print(what, sum(a[k][what] == b[k][what] for k in whole), "of", len(whole))
    close = sum(
        max(abs(p - q) for p, q in zip(a[k]["result"], b[k]["result"], strict=True))
        <= 1e-4 * max(map(abs, a[k]["result"]))
        for k in whole
    )
    print("results", close, "of", len(whole))


if __name__ == "__main__":
    if sys.argv[1] == "compare":
        compare(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        collect(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]) if sys.argv[3:] else 3600.0)
