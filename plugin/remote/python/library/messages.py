"""The messages of plugin.proto, made when this is imported of plugin.binpb, which is its descriptor."""
import pathlib
from typing import Any

from google.protobuf import descriptor_pool, duration_pb2, message_factory, timestamp_pb2

_needed = (duration_pb2, timestamp_pb2)  # plugin.proto imports them: they have to be in the pool
_pool = descriptor_pool.Default()
_pool.AddSerializedFile((pathlib.Path(__file__).parent / "plugin.binpb").read_bytes())


def _message(name: str) -> Any:
    described = _pool.FindMessageTypeByName(f"plughook.plugin.v1.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(described)
    return message_factory.MessageFactory(_pool).GetPrototype(described)  # before protobuf 4.22


Host = _message("Host")
Description = _message("Description")
Configuration = _message("Configuration")
Subscription = _message("Subscription")
HostMessage = _message("HostMessage")
PluginMessage = _message("PluginMessage")
