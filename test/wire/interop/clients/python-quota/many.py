"""A thousand buckets, on one stream or on several."""

import collections
import threading

from stream import Stream, bucket_id, reports, usage

BUCKETS = 1_000
# Buckets in a message.
TOGETHER = 100


def entries_of(number):
    return ("plan", "free"), ("user", f"user-{number}")


def drive(channel, messages, streams):
    """
    Every stream reports all buckets twice: the second time with the entries in the other order. Returns how often each kind
    of answer came, and how often the ids were not those that were sent.
    """
    kinds = collections.Counter()
    wrong = []
    lock = threading.Lock()

    def report(stream, is_turned):
        ids = [bucket_id(*(reversed(entries_of(i)) if is_turned else entries_of(i))) for i in range(BUCKETS)]
        usages = [usage(each, allowed=3) for each in ids]
        stream.send(*(reports("d", *usages[at : at + TOGETHER]) for at in range(0, BUCKETS, TOGETHER)))
        found = stream.answers(BUCKETS)
        with lock:
            kinds.update(found.values())
            wrong.append(set(found) != {entries_of(i) for i in range(BUCKETS)})

    def proxy():
        stream = Stream(channel, messages)
        for is_turned in (False, True):
            report(stream, is_turned)
        stream.close()

    proxies = [threading.Thread(target=proxy) for _ in range(streams)]
    for each in proxies:
        each.start()
    for each in proxies:
        each.join()
    return {"kinds": kinds, "rounds": len(wrong), "wrong": sum(wrong)}
