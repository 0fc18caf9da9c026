import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import t from 'tap';
import { Authority } from '../../support/certificates.ts';
import { trustByDefault } from '../../support/trust.ts';
import { run, runIn } from './run.ts';

const authority = new Authority('company root');
const { certificate, key } = authority.issue({ subject: 'service', names: ['localhost', 'acme.localhost'] });

t.test('sluice tasks trusts the authorities of the process, and says how to add one', async t => {
  const server = createServer({ cert: certificate, key }, (_, response) =>
    response.end('{"data":[],"next_cursor":null}'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const env = { SLUICE_URL: `https://acme.localhost:${port}`, SLUICE_TOKEN: 'tk_acme_secret' };
  const refused = await runIn(env, 'tasks', 'list');
  t.match(refused, {
    status: 2,
    stderr: /no trusted CA has signed .*set NODE_EXTRA_CA_CERTS to the file of its CA/,
  });
  trustByDefault(t, authority.certificate);
  t.match(await runIn(env, 'tasks', 'list'), { status: 0 });
});

t.test('sluice client trusts them as well, also beside --grpc-server-ca-file', async t => {
  const server = new Server();
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createSsl(null, [pair]), (failure, bound) =>
      failure === null ? resolve(bound) : reject(failure),
    );
  });
  t.teardown(() => server.forceShutdown());
  const args = [
    'client',
    '-dial_string',
    `localhost:${port}`,
    '-grpc-use-tls',
    '-domain',
    'd',
    '-descriptors',
    'a=b',
  ];
  t.match(await run(...args), { status: 2, stderr: /unable to verify the first certificate/ });
  trustByDefault(t, authority.certificate);
  // It is connected to: a gRPC server without the service has no better answer.
  t.match(await run(...args), { status: 2, stderr: /has no rate limit service/ });
});
