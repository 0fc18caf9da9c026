import type { Answer } from './answer.ts';

/** Returns the bytes of an answer that closes the connection, for a request that Node.js could not parse. */
export function rawAnswer({ status, contentType, headers = {}, body }: Answer): string {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString();
  const fields = Object.entries({
    'Content-Type': contentType,
    ...headers,
    Date: new Date().toUTCString(),
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(text)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${fields.join('')}\r\n${text}`;
}
