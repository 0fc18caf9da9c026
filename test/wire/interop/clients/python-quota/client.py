"""Drives the rate limit quota service with grpcio: `client.py HOST:PORT PROTO_FOLDER`. Writes what it saw as one line of JSON."""

import json
import sys
import threading

import grpc

import many
from odd import Cases
from stream import Stream, bucket_id, load_messages, reports, usage

CHANNEL_OPTIONS = [
    ("grpc.enable_http_proxy", 0),
    # Each channel has a connection of its own.
    ("grpc.use_local_subchannel_pool", 1),
]


class Honest(threading.Thread):
    """A proxy that reports its bucket again when it is answered, on a connection of its own, as long as it may."""

    def __init__(self, address, messages):
        super().__init__()
        self._address = address
        self._messages = messages
        self._stopped = threading.Event()
        self.answers = {}

    def run(self):
        with grpc.insecure_channel(self._address, options=CHANNEL_OPTIONS) as channel:
            stream = Stream(channel, self._messages, timeout=None)
            while not self._stopped.wait(0.02):
                stream.send(reports("d", usage(bucket_id(("user", "honest")))))
                kind = stream.answer()
                self.answers[kind] = self.answers.get(kind, 0) + 1
            stream.close()

    def stop(self):
        self._stopped.set()
        self.join()


def main(address, folder):
    messages = load_messages(folder)
    honest = Honest(address, messages)
    honest.start()
    try:
        with grpc.insecure_channel(address, options=CHANNEL_OPTIONS) as channel:
            seen = {
                "one": many.drive(channel, messages, streams=1),
                "ten": many.drive(channel, messages, streams=10),
                "odd": Cases(channel, messages).all(),
            }
    finally:
        honest.stop()
    print(json.dumps({**seen, "honest": honest.answers}))


main(sys.argv[1], sys.argv[2])
