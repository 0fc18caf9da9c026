// A worker to push tasks to, for a first try: it checks the signature of each request (Standard Webhooks,
// https://www.standardwebhooks.com), prints what it got, and answers.
//
//   WEBHOOK_SECRET=whsec_... node ops/quickstart/receiver.mjs [port]
//
// Copy `verified` into a worker of your own, or use one of the libraries of Standard Webhooks.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const MAX_BODY_BYTES = 1024 * 1024;
/** Older requests may be copies that somebody sends again. */
const MAX_AGE_SECONDS = 300;

const secret = process.env.WEBHOOK_SECRET ?? '';
const port = Number(process.argv[2] ?? 9000);
if (!/^whsec_[A-Za-z0-9+/]+=*$/.test(secret)) {
  console.error('Set WEBHOOK_SECRET to the signing secret of the worker: whsec_...');
  process.exit(2);
}

/** True when one of the signatures is ours, and the request is not an old one. */
function verified(headers, body) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (id === undefined || !(age <= MAX_AGE_SECONDS)) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return (headers['webhook-signature'] ?? '').split(' ').some(signature => {
    const [version, text = ''] = signature.split(',');
    const given = Buffer.from(text, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** Tasks that were done: one may come twice, and has the same id then. */
const done = new Set();

const server = createServer((request, response) => {
  const chunks = [];
  let bytes = 0;
  request.on('data', chunk => {
    bytes += chunk.length;
    // The rest is read as well: a connection that is closed in the middle of a body loses the answer.
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  });
  request.on('end', () => {
    const { headers } = request;
    const body = Buffer.concat(chunks);
    const answer = (status, text) => {
      console.log(`${headers['webhook-id']} attempt ${headers['task-attempt']}: ${status} ${text}`);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: text }));
    };
    if (bytes > MAX_BODY_BYTES) return answer(413, 'the body is too large');
    if (!verified(headers, body)) return answer(401, 'the signature is not valid');
    if (done.has(headers['webhook-id'])) return answer(200, 'was done before');
    done.add(headers['webhook-id']);
    console.log(body.toString());
    answer(200, 'done');
  });
});
server.listen(port, '127.0.0.1', () => {
  console.log(`Tasks can be pushed to http://localhost:${server.address().port}/`);
});
