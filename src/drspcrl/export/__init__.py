"""Take a policy away: ONNX, a C header, or plain NumPy arrays, none of which need this library."""

from drspcrl.export.files import FORMATS, Exported, export
from drspcrl.export.source import Source, read_source

__all__ = ["FORMATS", "Exported", "Source", "export", "read_source"]
