import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import type { ListenAddress } from '../../../../src/transports/grpc/listener.ts';
import { Authority } from '../../../support/certificates.ts';
import { callOverHttp2 } from '../../../support/grpc-client.ts';
import {
  CLIENT_CA,
  ENGINES,
  greet,
  material,
  openTls,
  SERVER_CA,
  SERVER_PAIR,
  showing,
  startTlsServer,
} from './tls-setup.ts';

const NEXT_PAIR = SERVER_CA.issue({ subject: 'next', names: ['localhost'] });

/** A session on a connection of its own, once its handshake is done. */
async function openSession(
  t: Test,
  address: ListenAddress,
): Promise<{ readonly session: ClientHttp2Session; readonly socket: TLSSocket }> {
  const socket = openTls(address);
  await once(socket, 'secureConnect');
  const session = connectHttp2('https://localhost', { createConnection: () => socket });
  t.teardown(() => session.destroy());
  return { session, socket };
}

for (const [engine, makeServer] of Object.entries(ENGINES)) {
  t.test(
    `with the engine ${engine} a new pair serves new connections and leaves the others alone`,
    async t => {
      const { server, handshakes } = await startTlsServer(t, { makeServer });
      const before = await openSession(t, server.address);
      t.equal(before.socket.getPeerCertificate().subject.CN, 'server');
      t.equal((await callOverHttp2(before.session, '/s/Echo'))['grpc-status'], '0');
      handshakes.use(material(NEXT_PAIR));
      const after = await openSession(t, server.address);
      t.equal(after.socket.getPeerCertificate().subject.CN, 'next');
      for (const { session } of [before, after]) {
        t.equal((await callOverHttp2(session, '/s/Echo'))['grpc-status'], '0');
      }
      t.notOk(before.session.closed);
    },
  );
}

t.test('a handshake in progress keeps its pair, a later handshake uses the new one', async t => {
  const { server, handshakes } = await startTlsServer(t);
  const pausing = openTls(server.address);
  await once(pausing, 'connect');
  handshakes.use(material(NEXT_PAIR));
  await once(pausing, 'secureConnect');
  t.match(pausing.getPeerCertificate().subject.CN, /^(server|next)$/);
  pausing.destroy();
  const { socket } = await openSession(t, server.address);
  t.equal(socket.getPeerCertificate().subject.CN, 'next');
});

t.test('a new client CA takes the place of the old one', async t => {
  const nextCa = new Authority('next client root');
  const [oldClient, newClient] = [CLIENT_CA, nextCa].map(ca => showing(ca.issue({ subject: 'proxy' })));
  const { server, handshakes } = await startTlsServer(t, { clientName: '' });
  t.match(await greet(server.address, oldClient), { served: true });
  t.match(await greet(server.address, newClient), { served: false });
  handshakes.use(material(SERVER_PAIR, nextCa.certificate));
  t.match(await greet(server.address, oldClient), { served: false });
  t.match(await greet(server.address, newClient), { served: true });
});
