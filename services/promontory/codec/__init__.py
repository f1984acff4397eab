"""Games as protobuf: one module per game turns its structs into messages and back. Times too."""
