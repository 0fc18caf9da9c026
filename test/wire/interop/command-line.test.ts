import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ListenAddress } from '../../../src/transports/grpc/listener.ts';
import type { GrpcServerOptions } from '../../../src/transports/grpc/server.ts';
import { serveOwn } from '../../support/own-server.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { missing, outputOf } from '../../support/tools.ts';
import { grpcMessage } from '../../support/wire-frames.ts';
import { TRANSPORTS } from './transports.ts';

const FIELDS = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];

async function served(t: Test, listen: (t: Test) => ListenAddress, options: Partial<GrpcServerOptions> = {}) {
  const { server, log } = await serveOwn(t, { options: { ...options, listen: listen(t) } });
  const directory = tempDirectory(t);
  const file = (name: string, content: Uint8Array): string => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  const { address } = server;
  const base = 'path' in address ? 'http://localhost' : `http://${address.host}:${address.port}`;
  const unixPath = 'path' in address ? address.path : null;
  return { base, unixPath, file, directory, log };
}

const noNghttp = missing('nghttp', 'nghttp2-client');
const noH2load = missing('h2load', 'nghttp2-client');
const noCurl = missing('curl', 'curl');

const NGHTTP_WAYS: Record<string, readonly string[]> = {
  plainly: [],
  'with padding': ['--padding=100'],
  'with trailers': ['--trailer', 'x-trailer: value'],
  'without content-length': ['--no-content-length'],
  'with windows of 1 byte': ['--window-bits=1'],
  'with an empty header table': ['--header-table-size=0'],
  'with a header table that changes its size': ['--header-table-size=100', '--header-table-size=4096'],
  'without priorities': ['--no-dep'],
  'many times at once': ['--multiply=50'],
};

for (const [way, options] of Object.entries(NGHTTP_WAYS)) {
  t.test(`nghttp calls ${way}`, { skip: noNghttp }, async t => {
    const { base, file } = await served(t, TRANSPORTS['TCP']);
    const message = file('message', grpcMessage('from nghttp'));
    const output = await outputOf('nghttp', [
      '-v',
      '-n',
      '-d',
      message,
      ...FIELDS,
      ...options,
      `${base}/s/Echo`,
    ]);
    const answers = output.match(/recv \(stream_id=\d+\) grpc-status: 0/g) ?? [];
    t.equal(answers.length, way === 'many times at once' ? 50 : 1, output.slice(-2_000));
    t.match(output, /recv \(stream_id=\d+\) :status: 200/);
    t.notMatch(output, /recv RST_STREAM|error_code=(?!NO_ERROR)/);
  });
}

t.test('nghttp receives an error if its header section is too large', { skip: noNghttp }, async t => {
  const { base, file } = await served(t, TRANSPORTS['TCP'], { maxMetadataBytes: 16_384 });
  const message = file('message', grpcMessage('from nghttp'));
  const output = await outputOf('nghttp', [
    '-v',
    '-n',
    '-d',
    message,
    ...FIELDS,
    '--continuation',
    `${base}/s/Echo`,
  ]);
  t.match(output, /recv \(stream_id=\d+\) :status: 431/);
});

for (const [transport, listen] of Object.entries(TRANSPORTS)) {
  t.test(`on ${transport}, every request of h2load succeeds`, { skip: noH2load }, async t => {
    const { base, unixPath, file } = await served(t, listen);
    const message = file('message', grpcMessage('from h2load'));
    const via = unixPath === null ? [] : ['-B', `unix:${unixPath}`];
    for (const [connections, streams] of [
      [1, 1],
      [4, 32],
      [20, 100],
    ]) {
      const load = ['-n', '2000', '-c', String(connections), '-m', String(streams)];
      const output = await outputOf('h2load', [...load, '-d', message, ...FIELDS, ...via, `${base}/s/Echo`]);
      t.match(output, /2000 succeeded, 0 failed, 0 errored, 0 timeout/, `${connections} × ${streams}`);
      t.match(output, /status codes: 2000 2xx/);
    }
  });

  t.test(`on ${transport}, curl calls over HTTP/2`, { skip: noCurl }, async t => {
    const { base, unixPath, file, directory } = await served(t, listen);
    const via = unixPath === null ? [] : ['--unix-socket', unixPath];
    const answer = join(directory, 'answer');
    for (const length of [0, 11, 200_000]) {
      const message = grpcMessage(Buffer.alloc(length, 'curl '));
      const data = ['--data-binary', `@${file('message', message)}`, '-o', answer];
      const output = await outputOf('curl', [
        '-sS',
        '-D',
        '-',
        '--http2-prior-knowledge',
        ...FIELDS,
        ...data,
        ...via,
        `${base}/s/Echo`,
      ]);
      t.match(output, /^HTTP\/2 200 *\r\ncontent-type: application\/grpc\r\n/);
      t.match(output, /\r\ngrpc-status: 0\r\n/);
      t.ok(readFileSync(answer).equals(message), `${length} bytes`);
    }
    const get = await outputOf('curl', [
      '-sS',
      '-D',
      '-',
      '--http2-prior-knowledge',
      ...via,
      `${base}/s/Echo`,
    ]);
    t.match(get, /^HTTP\/2 405 *\r\nallow: POST\r\n/);
    t.match(get, /\r\n\r\ngRPC calls use POST, not GET\n/);
  });

  t.test(`on ${transport}, curl over HTTP/1.1 reads why it is refused`, { skip: noCurl }, async t => {
    const { base, unixPath } = await served(t, listen);
    const via = unixPath === null ? [] : ['--unix-socket', unixPath];
    for (const version of ['--http1.1', '--http1.0', '--http2']) {
      const output = await outputOf('curl', ['-sS', '-i', version, ...via, '-d', '{}', `${base}/json`]);
      t.match(output, /^HTTP\/1\.1 505 /, version);
      t.match(output, /This port speaks gRPC.*For HTTP\/1\.1 use the HTTP port: POST \/json\./);
    }
  });
}
