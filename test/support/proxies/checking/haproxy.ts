import { join } from 'node:path';
import type { Teardown } from '../../temp-directory.ts';
import { writeSubstituted } from '../front.ts';
import { runHaproxy } from '../haproxy.ts';
import { type Behind, OWN_PORT, timeouts, WEBSITE } from './behind.ts';

const SERVER = 'server sluice-1 127.0.0.1:8080';

/** Starts ops/haproxy/check-requests.cfg. */
export async function startCheckingHaproxy(t: Teardown, behind: Behind): Promise<string> {
  const { addresses } = await runHaproxy(t, 2, (folder, [front, own]) => {
    const servers = behind.instances.map((address, index) => `server sluice-${index + 1} ${address}`);
    const [path] = writeSubstituted(folder, [
      [
        'haproxy/check-requests.cfg',
        [
          ['bind :80\n', `bind ${front}\n`],
          [OWN_PORT, own],
          ['/etc/haproxy/check-requests.lua', join(folder, 'check-requests.lua')],
          [SERVER, servers.join('\n    ')],
          [WEBSITE, behind.website],
          ['maxconn 20000', 'maxconn 200'],
          ...timeouts(behind),
        ],
      ],
      [
        'haproxy/check-requests.lua',
        [
          [OWN_PORT, own],
          ['TIMEOUT_MS = 1000', 'TIMEOUT_MS = 30000'],
        ],
      ],
    ]);
    return path;
  });
  return addresses[0];
}
