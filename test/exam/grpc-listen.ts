import { once } from 'node:events';
import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { holdSharedPort } from '../support/shared-port.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { type Examinee, echo } from './grpc-examinee.ts';

export async function examineTcpListen(t: Test, examinee: Examinee): Promise<void> {
  t.test('with port 0 the address contains the real port', async t => {
    const { server } = await examinee.start(t, {});
    t.match(server.address, { host: '127.0.0.1', port: Number });
    t.not((server.address as { port: number }).port, 0);
  });

  t.test('a port that is taken fails with the address, the cause and the settings', async t => {
    const { server } = await examinee.start(t, {});
    const { host, port } = server.address as { host: string; port: number };
    const second = examinee.make(t, {}, { listen: { host, port } });
    await t.rejects(second.start(), {
      message: `cannot listen on ${host}:${port} (EADDRINUSE): another process listens on this port; stop it, or set GRPC_PORT to a free port, or start every process with SHARE_PORTS=true to share the port`,
    });
  });

  t.test('servers that share a port open it side by side, and each answers', async t => {
    const held = await holdSharedPort();
    const listen = { host: '127.0.0.1', port: held.port, shared: true };
    const first = await examinee.start(t, { unary: { '/s/Echo': echo } }, { listen });
    const second = await examinee.start(t, { unary: { '/s/Echo': echo } }, { listen });
    await held.release();
    t.equal((await first.client.unary('/s/Echo')).status, 0);
    await first.server.stop();
    // Only the second is left, so that this connection is one to it.
    t.equal((await second.client.unary('/s/Echo')).status, 0);
  });

  t.test('a port held by a process that does not share it has its own error message', async t => {
    const { server } = await examinee.start(t, {});
    const { host, port } = server.address as { host: string; port: number };
    const second = examinee.make(t, {}, { listen: { host, port, shared: true } });
    await t.rejects(second.start(), {
      message: `cannot listen on ${host}:${port} (EADDRINUSE): the port is in use by a process of another user, or by one without SHARE_PORTS=true; stop that process, or set GRPC_PORT to a free port`,
    });
  });

  t.test('an address that the machine does not have is named', async t => {
    const server = examinee.make(t, {}, { listen: { host: '192.0.2.1', port: 0 } });
    await t.rejects(server.start(), /192\.0\.2\.1:0.*EADDRNOTAVAIL.*GRPC_HOST/);
  });

  t.test('an IPv6 address is written in brackets', async t => {
    const server = examinee.make(t, {}, { listen: { host: '2001:db8::1', port: 0 } });
    await t.rejects(server.start(), /\[2001:db8::1\]:0/);
  });
}

export async function examineUnixListen(t: Test, examinee: Examinee): Promise<void> {
  t.test('the socket file is there while the server runs, and not after', async t => {
    const { server } = await examinee.start(t, {});
    const { path } = server.address as { path: string };
    t.ok(statSync(path).isSocket());
    await server.stop();
    t.notOk(existsSync(path));
  });

  t.test('a socket file that nobody listens on is replaced', async t => {
    const path = join(tempDirectory(t), 'stale.sock');
    await leaveStaleSocket(path);
    const { client } = await examinee.start(t, { unary: { '/s/Echo': echo } }, { listen: { path } });
    t.equal((await client.unary('/s/Echo')).status, 0);
  });

  t.test('a socket that somebody listens on is left alone', async t => {
    const { server, client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const second = examinee.make(t, {}, { listen: server.address });
    await t.rejects(
      second.start(),
      /another process accepts connections there, and SHARE_PORTS does not apply to unix sockets.*GRPC_UDS/,
    );
    t.equal((await client.unary('/s/Echo')).status, 0);
  });

  t.test('a file that is no socket is left alone', async t => {
    const path = join(tempDirectory(t), 'notes.txt');
    writeFileSync(path, 'mine');
    const server = examinee.make(t, {}, { listen: { path } });
    await t.rejects(server.start(), /not a socket; remove it, or set GRPC_UDS/);
    t.ok(existsSync(path));
  });

  t.test('a missing directory and a path that is too long are named', async t => {
    const directory = tempDirectory(t);
    const missing = examinee.make(t, {}, { listen: { path: join(directory, 'none', 'grpc.sock') } });
    await t.rejects(missing.start(), /the directory is missing.*GRPC_UDS/);
    const long = examinee.make(t, {}, { listen: { path: join(directory, 'x'.repeat(120)) } });
    await t.rejects(long.start(), /the path has \d+ bytes; set GRPC_UDS/);
  });
}

/** A socket file without a listener, as a killed process leaves it: a moved file is not removed on close. */
async function leaveStaleSocket(path: string): Promise<void> {
  const former = createServer().listen(`${path}.former`);
  await once(former, 'listening');
  renameSync(`${path}.former`, path);
  former.close();
  await once(former, 'close');
}
