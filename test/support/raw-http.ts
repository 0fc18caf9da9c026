import { connect } from 'node:net';

/** An answer as it came over the wire. */
export interface RawAnswer {
  /** 0 where the connection was closed without an answer. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Writes these bytes to `host:port` and reads all that comes back until the other side closes, or a whole answer with a
 * length is there. For requests that no client library sends.
 */
export function sendRaw(address: string, bytes: string | Buffer): Promise<RawAnswer> {
  const colon = address.lastIndexOf(':');
  const socket = connect(Number(address.slice(colon + 1)), address.slice(0, colon));
  const chunks: Buffer[] = [];
  return new Promise(resolve => {
    const end = () => {
      socket.destroy();
      resolve(parse(Buffer.concat(chunks).toString('utf8')));
    };
    socket.on('data', chunk => {
      chunks.push(chunk);
      if (isWhole(Buffer.concat(chunks).toString('latin1'), bytes)) end();
    });
    socket.on('close', end);
    socket.on('error', end);
    socket.write(bytes);
  });
}

function isWhole(text: string, request: string | Buffer): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head !== -1 && request.slice(0, 5).toString() === 'HEAD ') return true;
  const length = /\r\ncontent-length: (\d+)/i.exec(text);
  return head !== -1 && length !== null && text.length >= head + 4 + Number(length[1]);
}

function parse(text: string): RawAnswer {
  const [head, ...rest] = text.split('\r\n\r\n');
  const [line, ...fields] = head.split('\r\n');
  const headers = fields.map(field => {
    const colon = field.indexOf(':');
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
  });
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1] ?? 0),
    headers: Object.fromEntries(headers),
    body: rest.join('\r\n\r\n'),
  };
}
