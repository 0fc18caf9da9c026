import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebhookRejected, WebhookVerifier } from '../../clients/typescript/src/index.ts';

const { PORT = '9000', MAILBOX = 'mailbox.jsonl', WEBHOOK_SECRET = '' } = process.env;

/** A payload is at most 1 MiB. */
const MAX_BODY_BYTES = 1024 * 1024;

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

const verifier = new WebhookVerifier(WEBHOOK_SECRET.split(','));

/** The ids of the tasks whose mails are in the mailbox. A program with several processes keeps them in its database. */
const sent = new Set(
  existsSync(MAILBOX)
    ? readFileSync(MAILBOX, 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line).id)
    : [],
);

/** The bytes of the body, which the signature covers; null if there are too many. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    // The rest is read as well: a connection that is closed in the middle of a body loses the answer.
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(chunks) : null;
}

/** Null if the payload is not a mail. */
function mailOf(body: Buffer): Mail | null {
  try {
    const { to, subject, text } = JSON.parse(body.toString());
    return [to, subject, text].every(field => typeof field === 'string') ? { to, subject, text } : null;
  } catch {
    return null;
  }
}

/** The status of the answer, and its header fields. */
async function receive(request: IncomingMessage): Promise<[status: number, fields?: Record<string, string>]> {
  try {
    const body = await bodyOf(request);
    if (body === null) return [413];
    const { id } = verifier.verify(request.headers, body);
    if (sent.has(id)) return [204];
    const mail = mailOf(body);
    // Another attempt would have the same payload.
    if (mail === null) return [422, { 'task-no-retry': 'true' }];
    appendFileSync(MAILBOX, `${JSON.stringify({ id, ...mail })}\n`);
    sent.add(id);
    return [204];
  } catch (failure) {
    if (failure instanceof WebhookRejected) return [401];
    // Such as a full disk, or a connection that ended in the middle of the body. The task is retried.
    console.error(failure);
    return [500];
  }
}

const server = createServer(async (request, response) => {
  const [status, fields] = await receive(request);
  response.writeHead(status, fields).end();
});
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Waiting for mails at http://localhost:${(server.address() as AddressInfo).port}/`);
});
process.once('SIGTERM', () => server.close());
