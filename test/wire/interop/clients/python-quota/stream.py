"""Streams of the rate limit quota service, with the messages of the published protocol."""

import queue
import sys
import threading

import grpc

# No stream lives longer, so that an answer that does not come ends the test with a status.
PATIENCE_S = 60

# A report that is not answered for this time is sent again.
REPEAT_S = 5

METHOD = "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas"


def load_messages(folder):
    """The messages of rlqs.proto, compiled from the files below the folder."""
    sys.path.append(folder)
    return grpc.protos("envoy/service/rate_limit_quota/v3/rlqs.proto")


def field(number, content):
    """A field of a message, which may be another message, in wire format."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def bucket_id(*entries):
    """A `BucketId` in wire format, with the entries in this order, which a library does not let one choose."""
    return b"".join(
        field(1, field(1, key.encode()) + field(2, value.encode())) for key, value in entries
    )


def usage(bucket, allowed=1, denied=0, elapsed=b""):
    """A report of a bucket. `bucket` and `elapsed` are in wire format."""
    counts = b"\x18" + varint(allowed) + b"\x20" + varint(denied)
    return field(1, bucket) + (field(2, elapsed) if elapsed else b"") + counts


def reports(domain, *usages):
    """A `RateLimitQuotaUsageReports` in wire format."""
    return (field(1, domain.encode()) if domain else b"") + b"".join(
        field(2, each) for each in usages
    )


class Stream:
    """A stream of reports. Sends bytes, so that it can also send what no library would."""

    def __init__(self, channel, messages, timeout=PATIENCE_S, compression=None):
        self._messages = messages
        self._requests = queue.SimpleQueue()
        self._responses = queue.SimpleQueue()
        self._sent = ()
        self.call = channel.stream_stream(METHOD)(
            iter(self._requests.get, None), timeout=timeout, compression=compression
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for response in self.call:
                self._responses.put(response)
        except grpc.RpcError:
            pass
        self._responses.put(None)

    def send(self, *requests):
        self._sent = requests
        for request in requests:
            self._requests.put(request)

    def response(self):
        """The next response as it came. What was sent last is sent again if it takes long, as Envoy does it."""
        while True:
            try:
                response = self._responses.get(timeout=REPEAT_S)
            except queue.Empty:
                self.send(*self._sent)
                continue
            if response is None:
                raise EOFError(f"the stream has ended: {self.call.code()}, {self.call.details()}")
            return response

    def answers(self, count):
        """What to do about each of so many buckets, by the entries of its id."""
        found = {}
        while len(found) < count:
            message = self._messages.RateLimitQuotaResponse.FromString(self.response())
            for action in message.bucket_action:
                found[tuple(sorted(action.bucket_id.bucket.items()))] = kind_of(action)
        return found

    def answer(self):
        """What to do about the only bucket that was reported."""
        return next(iter(self.answers(1).values()))

    def half_close(self):
        self._requests.put(None)

    def end(self):
        """The status of the stream, and its text, when it has ended."""
        status = {"status": self.call.code().name, "text": self.call.details()}
        self.half_close()
        return status

    def close(self):
        self.half_close()
        self.call.cancel()


def kind_of(action):
    """What an action is: `abandon`, `ALLOW_ALL`, `DENY_ALL`, or `tokens` if it is an assignment that Envoy understands."""
    if action.WhichOneof("bucket_action") == "abandon_action":
        return "abandon"
    assignment = action.quota_assignment_action
    strategy = assignment.rate_limit_strategy
    if strategy.WhichOneof("strategy") == "blanket_rule":
        return type(strategy).BlanketRule.Name(strategy.blanket_rule)
    bucket = strategy.token_bucket
    interval, ttl = bucket.fill_interval, assignment.assignment_time_to_live
    is_whole = interval.nanos == 0 and interval.seconds >= 1 and ttl.nanos == 0 and ttl.seconds >= 1
    is_full = bucket.max_tokens > 0 and bucket.tokens_per_fill.value == bucket.max_tokens
    return "tokens" if is_whole and is_full else f"odd: {action}"
