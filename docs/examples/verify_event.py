import base64
import hashlib
import hmac
import json
import time

TOLERANCE_SEC = 300

def verify(secret, headers, body):
    """Returns the event, or raises. `headers` have lower-case names, `body` is the raw bytes."""
    timestamp = headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > TOLERANCE_SEC:
        raise ValueError("too old, or from the future")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    for signature in headers["webhook-signature"].split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value, expected):
            return json.loads(body)
    raise ValueError("wrong signature")
