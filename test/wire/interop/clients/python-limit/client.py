"""Runs the middleware of docs/limit-clients.md: client.py FILE URL. Sends requests through it, and writes what came back."""

import asyncio
import importlib.util
import json
import sys

import httpx

file, url = sys.argv[1:]
spec = importlib.util.spec_from_file_location("limit", file)
limit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(limit)


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x-own", b"yes")]})
    await send({"type": "http.response.body", "body": b"hello"})


async def seen(users, **options):
    app = limit.Limit(hello, domain="demo", ask=limit.by_user, **options)
    # The deadline of the page is for machines that are not busy with tests.
    app.http.timeout = httpx.Timeout(30)
    answers = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://app.test") as client:
        for user in users:
            answer = await client.get("/", headers={} if user is None else {"x-user": user})
            # As they were written: ASGI requires names in lower case.
            headers = {name.decode(): value.decode() for name, value in answer.headers.raw}
            answers.append({"status": answer.status_code, "headers": headers, "body": answer.text})
    return answers


async def main():
    errors = []
    away = {"url": "http://127.0.0.1:1/json", "on_error": lambda error: errors.append(str(error))}
    print(json.dumps({
        "limited": await seen(["ann", "ann", "ann", None], url=url),
        "allowed": await seen(["ann"], **away),
        "denied": await seen(["ann"], deny=True, **away),
        "wrong": await seen(["ann"], **{**away, "url": url.replace("/json", "/other")}),
        "notJson": await seen(["ann"], **{**away, "url": url.replace("/json", "/healthcheck")}),
        "errors": errors,
    }))


asyncio.run(main())
