import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './step.mjs';

/** Folders of `test/unit` whose tests start servers, threads or programs, or try many random cases. */
const SLOW = [
  'app',
  'base/threads',
  'base/tls',
  'bench',
  'counters',
  'decision',
  'launch',
  'ops',
  'rules/parse',
  'tasks/crashes',
  'tasks/delivery',
  'tasks/rest',
  'tasks/scheduler',
  'tasks/store',
  'transports/debug',
  'transports/grpc',
];

/** The built unit tests without {@link SLOW}, for `npm run test:unit`. */
export function fastUnitTests() {
  const folder = 'build/test/unit';
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map(name => name.replaceAll('\\', '/'))
    .filter(name => name.endsWith('.test.js') && !SLOW.some(slow => name.startsWith(`${slow}/`)))
    .map(name => `${folder}/${name}`);
}
