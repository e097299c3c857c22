"""What is logged, as TensorBoard's protocol buffers: one function for each kind of summary."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike.tensor import Tensor
from torchlike.utils.tensorboard._convert_np import make_np
from torchlike.utils.tensorboard._histogram import make_histogram
from torchlike.utils.tensorboard._pictures import (
    audio,
    draw_boxes,
    image,
    image_boxes,
    make_image,
    make_video,
    video,
)
from torchlike.utils.tensorboard._protos import (
    HistogramProto,
    Layout,
    MeshPluginData,
    PrCurvePluginData,
    Summary,
    SummaryMetadata,
    TensorProto,
    api,
    custom_scalar_metadata,
    hparams_data,
    hparams_metadata,
    make_tensor_proto,
    mesh_metadata,
)

__all__ = [
    "audio",
    "compute_curve",
    "custom_scalars",
    "draw_boxes",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "make_histogram",
    "make_image",
    "make_video",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]

_logger = logging.getLogger(__name__)

#: Thresholds of a curve at most: more do not pass through TensorBoard's plugin.
_MOST_THRESHOLDS = 127
#: What is divided by where nothing was counted.
_MINIMUM_COUNT = 1e-7


def _of_plugin(tag: str, tensor: Any, plugin: str, content: bytes = b"") -> Any:
    """Return a summary of a tensor that one of TensorBoard's plugins shows."""
    data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    metadata = SummaryMetadata(plugin_data=data)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])


def scalar(
    name: str,
    tensor: Any,
    collections: Any = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> Any:
    """Return a summary of one number. ``new_style`` stores it as a tensor, of 64 bits with
    ``double_precision``."""
    values = make_np(tensor).squeeze()
    if values.ndim:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). "
            f"            Was given size: {values.size} and {values.ndim} dimensions."
        )
    number = float(values)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    if double_precision:
        stored = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        stored = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return _of_plugin(name, stored, "scalars")


def tensor_proto(tag: str, tensor: Tensor) -> Any:
    """Return a summary of all values of a tensor. Raises ValueError for dtypes that TensorBoard
    does not have.

    Differs from PyTorch: bfloat16 becomes float16, and both are stored with their own bits, which
    TensorBoard can read.
    """
    try:
        stored = make_tensor_proto(make_np(tensor))
    except TypeError as error:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}") from error
    return _of_plugin(tag, stored, "tensor")


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> Any:
    """Return a summary of a histogram that was counted elsewhere."""
    counted = HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return Summary(value=[Summary.Value(tag=name, histo=counted)])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """Return a summary of counts of values between edges (see ``make_histogram``)."""
    counted = make_histogram(make_np(values), bins, max_bins)
    return Summary(value=[Summary.Value(tag=name, histo=counted)])


def text(tag: str, text: str) -> Any:
    """Return a summary of text, which TensorBoard reads as Markdown."""
    stored = TensorProto(
        dtype="DT_STRING", string_val=[text.encode("utf_8")], tensor_shape={"dim": [{"size": 1}]}
    )
    return _of_plugin(f"{tag}/text_summary", stored, "text")


def custom_scalars(layout: dict[str, dict[str, tuple[str, list[str]]]]) -> Any:
    """Return a summary of which scalars TensorBoard shows in one chart: {category: {title: (kind,
    tags)}}, the kind being "Multiline", or "Margin" with the tags of a value and its lower and
    upper bounds.

    AssertionError for other than three tags of a margin.
    """
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            chart: dict[str, Any] = {"title": title}
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
                value, lower, upper = tags
                chart["margin"] = {"series": [{"value": value, "lower": lower, "upper": upper}]}
            else:
                chart["multiline"] = {"tag": tags}
            made.append(chart)
        categories.append({"title": category, "chart": made})
    stored = TensorProto(
        dtype="DT_STRING",
        tensor_shape={},
        string_val=[Layout(category=categories).SerializeToString()],
    )
    return _of_plugin(
        custom_scalar_metadata.CONFIG_SUMMARY_TAG, stored, custom_scalar_metadata.PLUGIN_NAME
    )


# -- hyperparameters -------------------------------------------------------------------------------


def hparams(
    hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None
) -> tuple[Any, Any, Any]:
    """Return summaries of the experiment (names and kinds), of the start of a session with its
    values, and of its end.

    Hyperparameters are numbers, strings, bools or one-element tensors; None is left out. ValueError
    for others, TypeError for what is no dictionary and for domains that do not fit.
    """
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            message = f"parameter: {name} should be a dictionary, nothing logged."
            _logger.warning(message)
            raise TypeError(message)
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, domain in domains.items():
        if (
            name not in hparam_dict
            or not isinstance(domain, list)
            or not all(isinstance(d, type(hparam_dict[name])) for d in domain)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )
    start = hparams_data.SessionStartInfo()
    infos = []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        kind, field = _kind_of(value)
        if isinstance(value, Tensor):
            value = float(make_np(value).reshape(()))
        setattr(start.hparams[name], field, value)
        info = api.HParamInfo(name=name, type=kind)
        if name in domains:
            values = [d if isinstance(d, str) else float(d) for d in domains[name]]
            info.domain_discrete.extend(values)
        infos.append(info)
    metrics = [api.MetricInfo(name={"tag": name}) for name in metric_dict]
    end = hparams_data.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))
    data = hparams_data.HParamsPluginData
    experiment = api.Experiment(hparam_infos=infos, metric_infos=metrics)
    return (
        _of_hparams(hparams_metadata.EXPERIMENT_TAG, data(experiment=experiment)),
        _of_hparams(hparams_metadata.SESSION_START_INFO_TAG, data(session_start_info=start)),
        _of_hparams(hparams_metadata.SESSION_END_INFO_TAG, data(session_end_info=end)),
    )


def _kind_of(value: Any) -> tuple[int, str]:
    """Return TensorBoard's type of a hyperparameter, and the field that holds such a value. A bool
    is a number, as PyTorch has it."""
    if isinstance(value, str):
        return api.DataType.Value("DATA_TYPE_STRING"), "string_value"
    if isinstance(value, (int, float, Tensor)):
        return api.DataType.Value("DATA_TYPE_FLOAT64"), "number_value"
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _of_hparams(tag: str, data: Any) -> Any:
    plugin = SummaryMetadata.PluginData(
        plugin_name=hparams_metadata.PLUGIN_NAME, content=data.SerializeToString()
    )
    metadata = SummaryMetadata(plugin_data=plugin)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])


# -- precision and recall --------------------------------------------------------------------------


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Any:
    """Return a summary of a curve that was computed elsewhere: counts (true and false, positive and
    negative), precision and recall, each at ``num_thresholds`` thresholds."""
    rows = [make_np(x) if isinstance(x, Tensor) else x for x in (tp, fp, tn, fn, precision, recall)]
    return _of_curve(tag, np.stack(rows), num_thresholds)


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> Any:
    """Return a summary of the curve of precision and recall of probabilities, given which of them
    should be 1."""
    thresholds = min(num_thresholds, _MOST_THRESHOLDS)
    counted = compute_curve(
        make_np(labels), make_np(predictions), num_thresholds=thresholds, weights=weights
    )
    return _of_curve(tag, counted, thresholds)


def _of_curve(tag: str, rows: np.ndarray, num_thresholds: int) -> Any:
    content = PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, _MOST_THRESHOLDS))
    stored = make_tensor_proto(rows.astype(np.float32))
    return _of_plugin(tag, stored, "pr_curves", content.SerializeToString())


def compute_curve(
    labels: np.ndarray, predictions: np.ndarray, num_thresholds: int = 127, weights: Any = None
) -> np.ndarray:
    """Compute true and false positives, true and false negatives, precision and recall: (6,
    thresholds).

    The thresholds lie evenly from 0 to 1; what is at least as large is positive.
    """
    weight = 1.0 if weights is None else make_np(weights)
    bucket = np.floor(predictions * (num_thresholds - 1)).astype(np.int32)
    truth = labels.astype(np.float64)

    def from_each_threshold_on(counted: np.ndarray) -> np.ndarray:
        per_bucket, _ = np.histogram(
            bucket, num_thresholds, (0, num_thresholds - 1), weights=counted
        )
        return per_bucket[::-1].cumsum()[::-1]

    tp = from_each_threshold_on(truth * weight)
    fp = from_each_threshold_on((1.0 - truth) * weight)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(_MINIMUM_COUNT, tp + fp)
    recall = tp / np.maximum(_MINIMUM_COUNT, tp + fn)
    return np.stack((tp, fp, tn, fn, precision, recall))


# -- meshes ----------------------------------------------------------------------------------------


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Any,
    display_name: Any = None,
    description: str | None = None,
) -> Any:
    """Return a summary of points in space (B, N, 3), with colors and triangles (indices of points)
    of the same kind.

    ``config_dict`` is for TensorBoard's renderer. ValueError for other shapes.
    """
    kind = MeshPluginData.ContentType
    parts = [
        (make_np(x), name)
        for x, name in ((vertices, "VERTEX"), (faces, "FACE"), (colors, "COLOR"))
        if x is not None
    ]
    for values, _ in parts:
        if values.ndim != 3 or values.shape[2] != 3:
            raise ValueError(
                f"Tensor shape should be of shape BxNx3, but got torch.Size({list(values.shape)})."
            )
    types = [kind.Value(name) for _, name in parts]
    components = mesh_metadata.get_components_bitmask(types)
    config = json.dumps(config_dict or {}, sort_keys=True)
    found = []
    for (values, _), content_type in zip(parts, types, strict=True):
        metadata = mesh_metadata.create_summary_metadata(
            tag, display_name, content_type, components, list(values.shape), description, config
        )
        found.append(
            Summary.Value(
                tag=mesh_metadata.get_instance_name(tag, content_type),
                tensor=make_tensor_proto(values.astype(np.float32)),
                metadata=metadata,
            )
        )
    return Summary(value=found)
