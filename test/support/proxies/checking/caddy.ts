import { readFileSync, writeFileSync } from 'node:fs';
import { Child } from '../../child-process.ts';
import { type Teardown, tempDirectory } from '../../temp-directory.ts';
import { toolPath } from '../../tools.ts';
import { PATIENCE_MS, startOnFreePorts, writeSubstituted } from '../front.ts';
import { type Behind, forEach, timeouts, WEBSITE } from './behind.ts';

/** Without the port on which Caddy can be changed while it runs. */
const GLOBAL = '{\n\tadmin off\n}\n';

/** Starts ops/caddy/Caddyfile. */
export async function startCaddy(t: Teardown, behind: Behind): Promise<string> {
  const folder = tempDirectory(t);
  const { proxy, addresses } = await startOnFreePorts(1, ([address]) => {
    const [path] = writeSubstituted(folder, [
      [
        'caddy/Caddyfile',
        [
          ['http://www.example.com {', `http://:${address.split(':')[1]} {\n\tbind 127.0.0.1`],
          forEach(behind, '127.0.0.1:8080', ' '),
          [WEBSITE, behind.website],
          ...timeouts(behind),
        ],
      ],
    ]);
    writeFileSync(path, GLOBAL + readFileSync(path, 'utf8'));
    const caddy = new Child({
      command: toolPath('caddy'),
      args: ['run', '--config', path, '--adapter', 'caddyfile'],
      env: { HOME: folder },
    });
    const isReady = (line: string) => (line.includes('serving initial configuration') ? true : undefined);
    return { proxy: caddy, listens: caddy.line(isReady, PATIENCE_MS) };
  });
  t.teardown(() => proxy.end('SIGTERM', PATIENCE_MS));
  return addresses[0];
}
