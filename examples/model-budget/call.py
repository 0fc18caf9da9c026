"""The same as call.ts, with nothing but the standard library of Python."""

import http.client
import json
import os
import sys
import threading
import urllib.error
import urllib.request
import uuid

SLUICE_JSON = os.environ.get("SLUICE_JSON", "http://localhost:8080/json")
MODEL_URL = os.environ.get("MODEL_URL", "http://localhost:9000/v1/chat/completions")
MAX_TOKENS = int(os.environ.get("MAX_TOKENS", "1000"))
EXTEND_S = int(os.environ.get("EXTEND_MS", "60000")) / 1000

if len(sys.argv) != 3:
    sys.exit("Usage: call.py USER PROMPT")
user, prompt = sys.argv[1:]

# The name of the lease. Each call of the model has its own.
lease_id = str(uuid.uuid4())


def post(url, body):
    headers = {"content-type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=60)


def lease(action, tokens=0):
    """Asks Sluice about the tokens of the user, and about one of the slots of the user. Returns whether it agrees."""
    held = {"lease": {"id": lease_id, "action": action}}
    descriptors = [
        {"entries": [{"key": "user", "value": user}], "hitsAddend": tokens, **held},
        {"entries": [{"key": "running", "value": user}], "hitsAddend": 1, **held},
    ]
    try:
        post(SLUICE_JSON, {"domain": "ai", "descriptors": descriptors}).close()
        return True
    except urllib.error.HTTPError as rejected:
        if rejected.code != 429:
            raise
        return False


def extend_until(done):
    while not done.wait(EXTEND_S):
        try:
            lease("extend")
        except OSError as failure:
            print(f"Could not extend the lease: {failure}", file=sys.stderr)


def end(tokens):
    """Ends the lease. A settlement that is repeated counts once, so it can be tried again if the answer was lost."""
    for attempt in range(3):
        try:
            lease("settle" if tokens > 0 else "release", tokens)
            return
        except OSError:
            if attempt == 2:
                raise


def ask(used):
    """Prints the answer of the model. Counts what it has used, which is at least a token for each event."""
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": MAX_TOKENS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with post(MODEL_URL, body) as response:
        for line in response:
            if not line.startswith(b"data: "):
                continue
            data = line[len(b"data: ") :].strip()
            if data == b"[DONE]":
                return
            event = json.loads(data)
            for choice in event["choices"]:
                print(choice["delta"].get("content", ""), end="", flush=True)
            usage = event.get("usage")
            used["tokens"] = usage["total_tokens"] if usage else used["tokens"] + 1
    raise OSError("the stream has ended in the middle")


if not lease("reserve", MAX_TOKENS):
    sys.exit("The budget is used up, or too many calls are in progress. Try again later.")
done = threading.Event()
threading.Thread(target=extend_until, args=(done,), daemon=True).start()
used = {"tokens": 0}
status = 0
try:
    ask(used)
    print()
except (OSError, ValueError, http.client.HTTPException) as failure:
    print(f"The call has failed: {failure}", file=sys.stderr)
    status = 1
finally:
    done.set()
    end(used["tokens"])
sys.exit(status)
