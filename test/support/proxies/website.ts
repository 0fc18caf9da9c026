import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from '../temp-directory.ts';

/** The header in which the website says which `RateLimit` it has received. */
export const RECEIVED = 'x-received-ratelimit';

/** The header in which the website says which lines of `X-User` it has received. */
export const RECEIVED_USERS = 'x-received-users';

/** A web server behind a proxy, which answers with the body of the request; returns its `host:port`. */
export async function startWebsite(t: Teardown): Promise<string> {
  const server = createServer(async (request, response) => {
    const { ratelimit } = request.headers;
    if (ratelimit !== undefined) response.setHeader(RECEIVED, ratelimit);
    response.setHeader(RECEIVED_USERS, JSON.stringify(request.headersDistinct['x-user'] ?? []));
    if (request.url === '/forbidden') response.writeHead(403).end('no entry');
    else response.end((await request.toArray()).join(''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
