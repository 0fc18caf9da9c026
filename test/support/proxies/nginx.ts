import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../child-process.ts';
import { type Teardown, tempDirectory } from '../temp-directory.ts';
import { toolPath } from '../tools.ts';
import {
  type Fronts,
  type Instance,
  PATIENCE_MS,
  type Substitutions,
  startOnFreePorts,
  substituted,
} from './front.ts';

/** The ports of ops/nginx/sluice.conf. */
const LISTENERS = ['listen 80;', 'listen 127.0.0.1:8090;', 'listen 127.0.0.1:8091 '];

/** Starts ops/nginx/sluice.conf in front of these instances; it ends with its test. */
export async function startNginx(
  t: Teardown,
  instances: readonly Instance[],
  substitutions: Substitutions = [],
): Promise<Fronts> {
  const servers = (port: number, addresses: readonly string[]) => {
    const line = (address: string) => `server ${address} max_fails=1 fail_timeout=2s;`;
    return [line(`127.0.0.1:${port}`), addresses.map(line).join('\n    ')] as const;
  };
  const [tasks, decisions, grpc] = await runNginx(t, 'sluice.conf', LISTENERS, [
    servers(
      8080,
      instances.map(({ http }) => http),
    ),
    servers(
      8081,
      instances.map(({ grpc }) => grpc),
    ),
    ['tasks.example.com', 'localhost'],
    ...substitutions,
  ]);
  return { tasks, decisions, grpc };
}

/**
 * Starts a file of ops/nginx in a real nginx, which ends with its test.
 *
 * @param listeners the beginnings of its `listen` lines
 * @returns the address of each, `host:port`
 */
export async function runNginx(
  t: Teardown,
  file: string,
  listeners: readonly string[],
  substitutions: Substitutions,
): Promise<readonly string[]> {
  const folder = tempDirectory(t);
  const { proxy, addresses } = await startOnFreePorts(listeners.length, chosen => {
    const listening = listeners.map((listener, index) => {
      const end = listener.at(-1);
      return [listener, `listen ${chosen[index]}${end}`] as const;
    });
    writeFileSync(join(folder, file), substituted(`nginx/${file}`, [...listening, ...substitutions]));
    writeFileSync(join(folder, 'nginx.conf'), around(folder, file));
    const nginx = new Child({ command: toolPath('nginx'), args: ['-c', join(folder, 'nginx.conf')] });
    // The sockets are open by then.
    const listens = nginx.line(
      line => (/using the ".*" event method/.test(line) ? true : undefined),
      PATIENCE_MS,
    );
    return { proxy: nginx, listens };
  });
  t.teardown(() => proxy.end('SIGTERM', PATIENCE_MS));
  return addresses;
}

/** What the files of ops/nginx are included by: one process in the foreground that writes nowhere else. */
function around(folder: string, file: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = kinds.map(kind => `${kind}_temp_path ${join(folder, kind)};`).join('\n  ');
  return `daemon off;
master_process off;
pid ${join(folder, 'nginx.pid')};
error_log stderr notice;
events { }
http {
  access_log off;
  ${paths}
  include ${join(folder, file)};
}
`;
}
