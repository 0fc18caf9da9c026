"""Reports that no proxy should send, and proxies that go away. Each has a stream of its own."""

import collections
import time

import grpc

from stream import Stream, bucket_id, field, reports, usage, varint

MOST = 2**64 - 1


def user(name):
    return bucket_id(("user", name))


def duration(seconds):
    """`google.protobuf.Duration` in wire format: negative numbers have ten bytes."""
    return b"\x08" + varint(seconds % 2**64)


class Cases:
    """What each case was answered with, by its name."""

    def __init__(self, channel, messages):
        self._channel = channel
        self._messages = messages
        self.seen = {}

    def open(self, **options):
        return Stream(self._channel, self._messages, **options)

    def answered(self, name, *requests, buckets=1, **options):
        """The kinds of answers to messages with so many buckets."""
        stream = self.open(**options)
        stream.send(*requests)
        self.seen[name] = collections.Counter(stream.answers(buckets).values())
        stream.close()

    def ended(self, name, *requests):
        """How a stream ends that gets these messages."""
        stream = self.open()
        stream.send(*requests)
        self.seen[name] = stream.end()

    def forgotten(self, name, bucket):
        """Whether the bucket is forgotten, and its id comes back as it was sent. This library may not be able to read it."""
        stream = self.open()
        stream.send(reports("d", usage(bucket)))
        self.seen[name] = stream.response() == field(1, field(1, bucket) + field(3, b""))
        stream.close()

    def domains(self):
        first = reports("d", usage(user("ann")))
        self.ended("no domain", reports("", usage(user("ann"))))
        self.ended("changed domain", first, reports("e", usage(user("ann"))))
        self.answered("domain only once", first, reports("", usage(user("bob"))), buckets=2)
        self.answered("unknown domain", reports("nobody", usage(user("ann"))))
        self.ended("domain that is no text", field(1, b"\xff") + field(2, usage(user("ann"))))

    def ids(self):
        self.forgotten("no id", b"")
        self.forgotten("empty key", bucket_id(("", "x")))
        self.forgotten("empty value", bucket_id(("user", "")))
        self.forgotten("id that is no text", field(1, field(1, b"user") + field(2, b"\xff")))
        self.forgotten("id of 33 entries", bucket_id(*((f"key-{i}", "x") for i in range(33))))
        self.forgotten("id of 64 KiB", user("x" * 65_500))
        self.ended("id of more than 64 KiB", reports("d", usage(user("x" * 65_536))))
        self.answered("a key twice", reports("d", usage(bucket_id(("user", "bob"), ("user", "ann")))))

    def counts(self):
        """As many requests as can be written, often."""
        largest = [usage(user("largest"), MOST, MOST) for _ in range(2_000)]
        self.answered("largest counts", reports("d", *largest), reports("d", *largest))
        self.answered("after the largest counts", reports("d", usage(user("carl"))))

    def times(self):
        for name, seconds in (("negative", -5), ("huge", 2**63 - 1)):
            report = usage(user(name), elapsed=duration(seconds))
            self.answered(f"{name} time", reports("d", report))
        self.answered("no time", reports("d", usage(user("none"))))

    def messages(self):
        dora = usage(user("dora"))
        unknown = field(99, b"\x00\x01\x02\x03")
        self.answered("unknown fields", reports("d", dora + unknown) + unknown)
        self.answered("messages without reports", reports("d"), b"", reports("d", dora))
        self.answered("gzip", reports("d", dora), compression=grpc.Compression.Gzip)
        self.ended("not a report", b"\xff\xff\xff\xff")
        self.ended("cut short", reports("d", dora)[:-3])
        self.ended("another type of a field", b"\x08\x01")
        self.ended("too many reports", field(1, b"d") + field(2, b"") * 100_001)

    def many(self):
        """More buckets than a proxy may have."""
        usages = [usage(user(f"many-{i}")) for i in range(30_000)]
        messages = (reports("d", *usages[at : at + 5_000]) for at in range(0, len(usages), 5_000))
        self.answered("30,000 buckets", *messages, buckets=len(usages))

    def ends(self):
        def busy(**options):
            stream = self.open(**options)
            stream.send(reports("d", usage(user("erna"))))
            stream.answer()
            return stream

        half_closed = busy()
        half_closed.half_close()
        self.seen["half-close"] = half_closed.end()
        at_once = self.open()
        at_once.half_close()
        self.seen["half-close at once"] = at_once.end()
        cancelled = busy()
        cancelled.call.cancel()
        self.seen["cancel"] = cancelled.end()
        began = time.monotonic()
        self.seen["deadline"] = busy(timeout=1).end()
        self.seen["deadline in time"] = time.monotonic() - began < 10

    def all(self):
        for part in (self.domains, self.ids, self.counts, self.times, self.messages, self.many, self.ends):
            part()
        return self.seen
