"""Calls a server with grpcio: `client.py HOST:PORT CALLS`. Writes what it saw as one line of JSON."""

import collections
import json
import sys
import threading

import grpc

# Calls that may be open at the same time under load.
WINDOW = 200
# No call waits longer, so that a fault of the server ends the test with an answer.
PATIENCE_S = 30


def status_of(method, timeout):
    try:
        method(b"", timeout=timeout)
        return "OK"
    except grpc.RpcError as failure:
        return failure.code().name


def outcome_of(answer):
    if answer.cancelled():
        return "cancelled"
    failure = answer.exception()
    if failure is not None:
        return f"{failure.code().name}: {failure.details()}"
    return "ok" if answer.result() == b"hello" else "wrong"


def load(echo, calls):
    """Every fourth call is cancelled as soon as it has begun."""
    outcomes = collections.Counter()
    lock = threading.Lock()
    window = threading.Semaphore(WINDOW)

    def ended(answer):
        with lock:
            outcomes[outcome_of(answer)] += 1
        window.release()

    for i in range(calls):
        window.acquire()
        answer = echo.future(b"hello", timeout=PATIENCE_S)
        answer.add_done_callback(ended)
        if i % 4 == 3:
            answer.cancel()
    for _ in range(WINDOW):
        window.acquire()
    return outcomes


def main(address, calls):
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        echo = channel.unary_unary("/s/Echo")
        encoding = channel.unary_unary("/s/Encoding")
        silent = channel.unary_unary("/s/Silent")
        large = b"x" * 1_000_000
        gzip = grpc.Compression.Gzip
        seen = {
            "echo": echo(b"hello", timeout=PATIENCE_S).decode(),
            "large": echo(large, timeout=PATIENCE_S) == large,
            "gzip": echo(large, compression=gzip, timeout=PATIENCE_S) == large,
            "encoding": encoding(large, compression=gzip, timeout=PATIENCE_S).decode(),
            "deadline": status_of(silent, timeout=0.1),
            "load": load(echo, calls),
        }
    print(json.dumps(seen))


main(sys.argv[1], int(sys.argv[2]))
