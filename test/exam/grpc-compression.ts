import { gzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { WireClient } from '../support/wire-client.ts';
import { data, FLAGS, fieldBlock, grpcFields, grpcMessage, headers } from '../support/wire-frames.ts';
import { type Examinee, echo, type Methods } from './grpc-examinee.ts';

const COMPRESSED = 1;
const METHODS: Methods = {
  unary: { '/s/Echo': echo },
  streaming: {
    '/s/Watch': (request, stream) => {
      stream.send(request);
      stream.end(0, '');
    },
  },
};

/** A call to a method that echoes, in frames of `pieceBytes`. */
function call(
  id: number,
  { encoding, content, path = '/s/Echo', pieceBytes = 16_384 }: Call,
): readonly Uint8Array[] {
  const fields = encoding === null ? {} : { 'grpc-encoding': encoding };
  const frames: Uint8Array[] = [headers(id, fieldBlock(grpcFields(path, fields)))];
  for (let at = 0; at < content.length; at += pieceBytes)
    frames.push(data(id, content.subarray(at, at + pieceBytes)));
  return [...frames, data(id, Buffer.alloc(0), FLAGS.endStream)];
}

interface Call {
  /** `grpc-encoding`; null for a call without it. */
  readonly encoding: string | null;
  /** Prefix and message. */
  readonly content: Buffer;
  readonly path?: string;
  readonly pieceBytes?: number;
}

/** Compressed messages ("gRPC over HTTP2", Message-Encoding, and "gRPC compression"). */
export function examineCompression(t: Test, examinee: Examinee): void {
  const gzipped = (message: string | Uint8Array) => grpcMessage(gzipSync(message), COMPRESSED);

  const accepted: Record<string, Call> = {
    'compressed with gzip': { encoding: 'gzip', content: gzipped('abc') },
    'compressed with gzip, in frames of one octet': {
      encoding: 'gzip',
      content: gzipped('abc'),
      pieceBytes: 1,
    },
    'compressed with gzip in two members': {
      encoding: 'gzip',
      content: grpcMessage(Buffer.concat([gzipSync('a'), gzipSync('bc')]), COMPRESSED),
    },
    'compressed with gzip, of a method that streams': {
      encoding: 'gzip',
      content: gzipped('abc'),
      path: '/s/Watch',
    },
    'not compressed, of a call that names gzip': { encoding: 'gzip', content: grpcMessage('abc') },
    'not compressed, of a call that names identity': { encoding: 'identity', content: grpcMessage('abc') },
  };
  for (const [name, asked] of Object.entries(accepted)) {
    examinee.test(t, `a message ${name} is accepted, and its answer is not compressed`, async t => {
      const { server } = await examinee.start(t, METHODS);
      const client = await WireClient.open(t, server.address);
      client.send(...call(1, asked));
      const { fields, content } = await client.answer(1);
      t.match(fields, { ':status': '200', 'grpc-status': '0' });
      t.equal(fields['grpc-encoding'] ?? 'identity', 'identity');
      t.strictSame(content, grpcMessage('abc'));
    });
  }

  examinee.test(t, 'an empty message may come compressed', async t => {
    const { server } = await examinee.start(t, METHODS);
    const client = await WireClient.open(t, server.address);
    client.send(...call(1, { encoding: 'gzip', content: gzipped('') }));
    t.match(await client.answer(1), { fields: { 'grpc-status': '0' }, content: grpcMessage() });
  });

  examinee.test(t, 'the limit on messages holds for what they inflate to', async t => {
    const { server } = await examinee.start(t, METHODS, { maxMessageBytes: 1_000 });
    const client = await WireClient.open(t, server.address);
    for (const [i, [length, status]] of [
      [1_000, '0'],
      [1_001, '8'],
      [900_000, '8'],
      [1_000, '0'],
    ].entries()) {
      const id = 2 * i + 1;
      client.send(...call(id, { encoding: 'gzip', content: gzipped(Buffer.alloc(Number(length))) }));
      t.equal((await client.answer(id)).fields['grpc-status'], status, `${length} bytes`);
    }
  });

  const broken: Record<string, Buffer> = {
    'that is no gzip': Buffer.from('not gzip at all'),
    'that is empty': Buffer.alloc(0),
    'without its end': gzipSync('abc').subarray(0, -9),
    'with a wrong checksum': Buffer.concat([gzipSync('abc').subarray(0, -8), Buffer.alloc(8)]),
  };
  for (const [name, message] of Object.entries(broken)) {
    examinee.test(t, `a compressed message ${name} is INTERNAL`, async t => {
      const { server } = await examinee.start(t, METHODS);
      const client = await WireClient.open(t, server.address);
      client.send(...call(1, { encoding: 'gzip', content: grpcMessage(message, COMPRESSED) }));
      t.match((await client.answer(1)).fields, { ':status': '200', 'grpc-status': '13' });
      t.equal(await client.call(3, '/s/Echo'), '0', 'the connection still serves');
    });
  }

  for (const encoding of [null, 'identity']) {
    examinee.test(t, `a compressed message of a call with grpc-encoding ${encoding} is INTERNAL`, async t => {
      const { server } = await examinee.start(t, METHODS);
      const client = await WireClient.open(t, server.address);
      client.send(...call(1, { encoding, content: gzipped('abc') }));
      t.match((await client.answer(1)).fields, { 'grpc-status': '13', 'grpc-message': /grpc-encoding/ });
    });
  }

  for (const [name, content] of [
    ['compressed', gzipped('abc')],
    ['not compressed', grpcMessage('abc')],
  ] as const) {
    examinee.test(
      t,
      `a message ${name} of a call with another encoding is UNIMPLEMENTED, and the answer names the accepted encodings`,
      async t => {
        const { server } = await examinee.start(t, METHODS);
        const client = await WireClient.open(t, server.address);
        client.send(...call(1, { encoding: 'snappy', content }));
        t.match((await client.answer(1)).fields, {
          ':status': '200',
          'grpc-status': '12',
          'grpc-message': /snappy/,
          'grpc-accept-encoding': 'identity,gzip',
        });
      },
    );
  }
}
