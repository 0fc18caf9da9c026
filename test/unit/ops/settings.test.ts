import { createRequire } from 'node:module';
import { join } from 'node:path';
import t from 'tap';
import { SETTINGS } from '../../../src/settings/table.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { opsText, yamlOf } from './ops-files.ts';

const known = new Set<string>(Object.values(SETTINGS).flatMap(setting => setting.names));

/** Variables of `Environment=A=1 B=2` lines of a unit. */
function unitVariables(text: string): string[] {
  return [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, pairs]) =>
    pairs.split(/\s+/).map(pair => pair.split('=')[0]),
  );
}

/** Variables that an example in a comment sets. */
function namedInComments(text: string): string[] {
  return [...text.matchAll(/\b([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)=/g)].map(([, name]) => name);
}

const given: readonly (readonly [string, () => readonly string[]])[] = [
  ['systemd/sluice.service', () => unitVariables(opsText('systemd/sluice.service'))],
  ['systemd/sluice@.service', () => unitVariables(opsText('systemd/sluice@.service'))],
  [
    'pm2/ecosystem.config.cjs',
    () => {
      const load = createRequire(import.meta.url);
      const { apps } = load(join(repositoryRoot(), 'ops/pm2/ecosystem.config.cjs'));
      // That of the C library is no setting of the service.
      return Object.keys(apps[0].env).filter(name => name !== 'MALLOC_ARENA_MAX');
    },
  ],
  [
    'docker/Dockerfile',
    () => [...opsText('docker/Dockerfile').matchAll(/^ENV (\w+)=/gm)].map(([, name]) => name),
  ],
  ['docker/compose.yaml', () => Object.keys(yamlOf('docker/compose.yaml')[0].services.sluice.environment)],
  ['envoy/mtls.yaml', () => namedInComments(opsText('envoy/mtls.yaml'))],
  ['nginx/sluice.conf', () => namedInComments(opsText('nginx/sluice.conf'))],
  ['haproxy/haproxy.cfg', () => namedInComments(opsText('haproxy/haproxy.cfg'))],
];

for (const [file, variables] of given) {
  t.test(`ops/${file} sets nothing that is no setting`, async t => {
    const names = variables();
    t.ok(names.length > 0, 'it sets something');
    t.same(
      names.filter(name => !known.has(name)),
      [],
    );
  });
}
