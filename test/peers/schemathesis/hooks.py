"""Media types that the fuzzer can't write by itself."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def write_bytes(context: object, value: object) -> object:
    """Send a file as it was made."""
    return value if isinstance(value, bytes) else str(value).encode()
