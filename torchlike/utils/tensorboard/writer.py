"""Writing event files: ``FileWriter`` takes protocol buffers, ``SummaryWriter`` what users log."""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from torchlike.utils.tensorboard import _embedding, summary
from torchlike.utils.tensorboard._convert_np import make_np
from torchlike.utils.tensorboard._histogram import default_bins
from torchlike.utils.tensorboard._jaxpr_graph import graph_of
from torchlike.utils.tensorboard._protos import (
    Event,
    EventFileWriter,
    ProjectorConfig,
    SessionLog,
    TaggedRunMetadata,
)
from torchlike.utils.tensorboard._utils import figure_to_image


class FileWriter:
    """Protocol buffers into one event file, written by a thread of its own.

    Args:
      log_dir: folder of the file.
      max_queue: events that may wait before ``add_event`` does.
      flush_secs: seconds between writes to the disk.
      filename_suffix: end of the file's name.
    """

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self._arguments = str(log_dir), max_queue, flush_secs, filename_suffix
        self.event_writer = EventFileWriter(*self._arguments)

    def get_logdir(self) -> str:
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event, at ``walltime`` (seconds since 1970) instead of now."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Write a graph, given with what running it took (or None)."""
        graph, run = graph_profile
        self.add_onnx_graph(graph, walltime)
        if run is not None:
            data = TaggedRunMetadata(tag="step1", run_metadata=run.SerializeToString())
            self.add_event(Event(tagged_run_metadata=data), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a GraphDef alone."""
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Write what waits to the disk."""
        self.event_writer.flush()

    def close(self) -> None:
        """Flush and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Go on in another file of the same folder, after ``close``."""
        self.event_writer = EventFileWriter(*self._arguments)


class SummaryWriter:
    """Logs numbers, distributions, pictures, sound and more for TensorBoard.

    Every ``add_*`` takes ``global_step`` (of the training, for the horizontal axis) and most
    ``walltime`` (seconds since 1970 instead of now). Values are tensors, NumPy or JAX arrays, or
    numbers; a tensor of a function that is being captured is refused.

    Args:
      log_dir: folder of the files; "runs/<time>_<host><comment>" unless given.
      comment: appended to the folder's default name.
      purge_step: TensorBoard hides what an earlier, crashed run logged from this step on.
      max_queue, flush_secs, filename_suffix: as for ``FileWriter``.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            started = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{started}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.default_bins = default_bins()
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._projector = ProjectorConfig()
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of the folder; a new one is opened after ``close``."""
        if self.all_writers is None or self.file_writer is None:
            writer = self.file_writer = self._open(self.log_dir)
            self.all_writers = {writer.get_logdir(): writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                writer.add_event(Event(step=step, file_version="brain.Event:2"))
                start = SessionLog(status=SessionLog.START)
                writer.add_event(Event(step=step, session_log=start))
        return self.file_writer

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self) -> Any:
        return self.log_dir

    def _add(self, made: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    # -- numbers -----------------------------------------------------------------------------------

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add one number of a curve. Raises AssertionError for more than one element."""
        made = summary.scalar(
            tag, scalar_value, new_style=new_style, double_precision=double_precision
        )
        self._add(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add numbers of several curves in one chart, each in a file and folder of its own."""
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            run = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            writer = self.all_writers.get(run)
            if writer is None:
                writer = self.all_writers[run] = self._open(run)
            writer.add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add all values of a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add the distribution of values. ``bins``: "tensorflow", or what ``numpy.histogram``
        takes."""
        edges = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, edges, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a distribution that was counted elsewhere: a count for each upper limit."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(made, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: Any,
        metric_dict: Any,
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Add hyperparameters and what they led to, in a folder of their own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as run:
            for part in made:
                run._add(part, global_step, None)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision and recall of probabilities, given which of them should be 1."""
        made = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision and recall that were counted elsewhere."""
        made = summary.pr_curve_raw(
            tag,
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
            num_thresholds,
            weights,
        )
        self._add(made, global_step, walltime)

    # -- what is seen and heard --------------------------------------------------------------------

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image of 1, 3 or 4 channels: uint8, or floats from 0 to 1."""
        made = summary.image(tag, img_tensor, dataformats=dataformats)
        self._add(made, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add several images as one, eight in a row."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Add an image with boxes (N, 4): left, top, right, bottom in pixels. There must be as many
        labels, or none of them are shown."""
        if labels is not None:
            labels = [labels] if isinstance(labels, str) else labels
            labels = labels if len(labels) == len(box_tensor) else None
        made = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a matplotlib figure, or a list of them; closed afterwards unless ``close`` is
        False."""
        pixels = figure_to_image(figure, close)
        self.add_image(tag, pixels, global_step, walltime, "CHW" if pixels.ndim == 3 else "NCHW")

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Add moving images (N, T, C, H, W) with ``fps`` frames a second."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add sound of one channel, samples from -1 to 1, ``sample_rate`` of them a second."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add text, shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add points in space (B, N, 3), with colors and triangles of the same kind."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # -- models and embeddings ---------------------------------------------------------------------

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Add the operations of a module's call on ``input_to_model``, a tensor or several.

        Differs from PyTorch: JAX's operations are drawn. ``use_strict_trace`` has no effect.
        """
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)  # noqa: T201 - what the argument asks for
        self._get_file_writer().add_graph((graph, None))

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Raise NotImplementedError: this is not supported. Use instead: ``add_graph`` with the
        module."""
        raise NotImplementedError(
            "SummaryWriter.add_onnx_graph: ONNX files are not read. Use instead: "
            "SummaryWriter.add_graph(model, inputs)."
        )

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Add points (N, D) for TensorBoard's projector, with what they stand for.

        Args:
          metadata: N labels; with ``metadata_header`` N rows of as many columns.
          label_img: pictures (N, C, H, W) from 0 to 1.
        """
        points = make_np(mat)
        if points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        if metadata is not None and len(metadata) != len(points):
            raise AssertionError("#labels should equal with #data points")
        images = None if label_img is None else make_np(label_img)
        if images is not None and len(images) != len(points):
            raise AssertionError("#images should equal with #data points")
        log_dir = self._get_file_writer().get_logdir()
        step = str(0 if global_step is None else global_step).zfill(5)
        subfolder = f"{step}/{_as_file_name(tag)}"
        folder = Path(log_dir, subfolder)
        if folder.exists():
            warnings.warn("Embedding dir exists, did you set global_step for add_embedding()?")
        folder.mkdir(parents=True, exist_ok=True)
        _embedding.write_points(folder, points)
        if metadata is not None:
            _embedding.write_metadata(folder, metadata, metadata_header)
        if images is not None:
            _embedding.write_sprite(folder, images)
        info = _embedding.embedding_info(metadata, images, subfolder, step, tag)
        self._projector.embeddings.append(info)
        _embedding.write_config(Path(log_dir), self._projector)

    # -- layouts -----------------------------------------------------------------------------------

    def add_custom_scalars(self, layout: dict[str, Any]) -> None:
        """Choose which scalars stand in one chart: {category: {title: ["Multiline" or "Margin",
        tags]}}. To be called once."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show several scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show a scalar between two others: its tag, the lower and the upper one's."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    # -- the files ---------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what waits to the disk."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Flush and close all files; logging again opens others."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()


def _as_file_name(tag: str) -> str:
    """Return a tag with the characters escaped that would make folders of it."""
    return tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")
