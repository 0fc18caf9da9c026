import { connect } from 'node:http2';
import { framed } from '../../support/grpc-framing.ts';
import { ANSWER, CALL_HEADERS, METHOD_PATH, REQUEST } from './call.ts';

/** How long a server that nobody else asks may take for one answer. */
const PATIENCE_MS = 5_000;

/** Makes one call and fails unless its answer is the agreed one: h2load looks at HTTP statuses alone. */
export async function probe(name: string, port: number): Promise<void> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const { content, grpcStatus } = await call(session);
    if (grpcStatus !== '0' || !content.equals(framed(ANSWER))) {
      throw new Error(
        `${name} does not answer as agreed: grpc-status ${grpcStatus}, content ${content.toString('hex')}`,
      );
    }
  } finally {
    session.destroy();
  }
}

interface ProbeAnswer {
  readonly content: Buffer;
  readonly grpcStatus: string;
}

function call(session: ReturnType<typeof connect>): Promise<ProbeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeAnswer>();
  session.on('error', reject);
  const stream = session.request({
    ':method': 'POST',
    ':path': METHOD_PATH,
    ...Object.fromEntries(CALL_HEADERS),
  });
  const parts: Buffer[] = [];
  let grpcStatus = 'missing';
  stream.on('error', reject);
  stream.on('data', part => parts.push(part));
  stream.on('trailers', trailers => {
    grpcStatus = String(trailers['grpc-status']);
  });
  stream.on('end', () => resolve({ content: Buffer.concat(parts), grpcStatus }));
  stream.setTimeout(PATIENCE_MS, () => reject(new Error(`no answer within ${PATIENCE_MS} ms`)));
  stream.end(framed(REQUEST));
  return promise;
}
