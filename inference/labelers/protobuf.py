"""Classes of protobuf messages of which a few fields are declared, and found among others."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format


def message_class(declarations: str, name: str) -> Any:  # noqa: ANN401 protobuf's messages have no types
    """Return the class of a message that a file of declarations has, in the text format of its descriptor."""
    file = text_format.Parse(declarations, descriptor_pb2.FileDescriptorProto())
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
