# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
"""What is used of the package tensorboard: protocol buffers, whose classes protobuf makes when they
are imported (so that no type checker sees them), its file writer and its plugins' names."""

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue as _AttrValue
from tensorboard.compat.proto.event_pb2 import (
    Event as _Event,
)
from tensorboard.compat.proto.event_pb2 import (
    SessionLog as _SessionLog,
)
from tensorboard.compat.proto.event_pb2 import (
    TaggedRunMetadata as _TaggedRunMetadata,
)
from tensorboard.compat.proto.graph_pb2 import GraphDef as _GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef as _NodeDef
from tensorboard.compat.proto.summary_pb2 import (
    HistogramProto as _HistogramProto,
)
from tensorboard.compat.proto.summary_pb2 import (
    Summary as _Summary,
)
from tensorboard.compat.proto.summary_pb2 import (
    SummaryMetadata as _SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto as _TensorProto
from tensorboard.compat.proto.versions_pb2 import VersionDef as _VersionDef
from tensorboard.plugins.custom_scalar import metadata as _custom_scalar_metadata
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout as _Layout
from tensorboard.plugins.hparams import (
    api_pb2 as _api,
)
from tensorboard.plugins.hparams import (
    metadata as _hparams_metadata,
)
from tensorboard.plugins.hparams import (
    plugin_data_pb2 as _hparams_data,
)
from tensorboard.plugins.mesh import metadata as _mesh_metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData as _MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData as _PrCurvePluginData
from tensorboard.plugins.projector.projector_config_pb2 import (
    EmbeddingInfo as _EmbeddingInfo,
)
from tensorboard.plugins.projector.projector_config_pb2 import (
    ProjectorConfig as _ProjectorConfig,
)
from tensorboard.summary.writer.event_file_writer import EventFileWriter as _EventFileWriter
from tensorboard.summary.writer.record_writer import RecordWriter as _RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto as _make_tensor_proto

AttrValue: Any = _AttrValue
EmbeddingInfo: Any = _EmbeddingInfo
Event: Any = _Event
EventFileWriter: Any = _EventFileWriter
GraphDef: Any = _GraphDef
HistogramProto: Any = _HistogramProto
Layout: Any = _Layout
MeshPluginData: Any = _MeshPluginData
NodeDef: Any = _NodeDef
PrCurvePluginData: Any = _PrCurvePluginData
ProjectorConfig: Any = _ProjectorConfig
RecordWriter: Any = _RecordWriter
SessionLog: Any = _SessionLog
Summary: Any = _Summary
SummaryMetadata: Any = _SummaryMetadata
TaggedRunMetadata: Any = _TaggedRunMetadata
TensorProto: Any = _TensorProto
VersionDef: Any = _VersionDef
api: Any = _api
custom_scalar_metadata: Any = _custom_scalar_metadata
hparams_data: Any = _hparams_data
hparams_metadata: Any = _hparams_metadata
make_tensor_proto: Any = _make_tensor_proto
mesh_metadata: Any = _mesh_metadata
