import t from 'tap';
import { joinedModules } from '../../../../src/transports/page/joined-modules.ts';

/** What a module exports that begins with `live/main.js`, after the browser has run all of them. */
async function run(modules: Readonly<Record<string, string>>): Promise<string[]> {
  const text = joinedModules(new Map(Object.entries(modules)), 'live/main.js');
  const done: string[] = [];
  (globalThis as { done?: string[] }).done = done;
  await import(`data:text/javascript,${encodeURIComponent(text)}`);
  return done;
}

t.test('modules run once, each after those that it imports, with names of their own', async t => {
  const done = await run({
    'live/main.js': [
      "import { one, Two as Second } from './views/parts.js';",
      "import { one as shared } from '../design/shared.js';",
      'const local = [one(), new Second().name, shared];',
      'done.push(...local);',
      'export {};',
    ].join('\n'),
    'live/views/parts.js': [
      'import { one as shared } from "../../design/shared.js";',
      'const local = 1;',
      'export function one() { return shared + local; }',
      'export class Two { name = `two`; }',
    ].join('\n'),
    'design/shared.js': "done.push('shared');\nexport const one = 41;\nexport async function later() {}",
    'design/unused.js': "done.push('never');",
  });
  t.same(done, ['shared', 42, 'two', 41]);
});

t.test('packages stay imports, with names and as a whole', async t => {
  const done = await run({
    'live/main.js': [
      "import { join } from 'node:path/posix';",
      "import path from 'node:path/posix';",
      "import { sep } from './sep.js';",
      "done.push(join('a', 'b'), path.join('c', 'd'), sep);",
    ].join('\n'),
    'live/sep.js': "import { sep as own } from 'node:path/posix';\nexport const sep = own;",
  });
  t.same(done, ['a/b', 'c/d', '/']);
});

t.test('what the compiler does not write is an error, and so are circles and missing modules', async t => {
  const joined = (modules: Readonly<Record<string, string>>) => () =>
    joinedModules(new Map(Object.entries(modules)), 'live/main.js');
  for (const line of [
    "export * from './a.js';",
    "export { a } from './a.js';",
    'export default 5;',
    'export let a = 1;',
    "import * as a from './a.js';",
    "import './a.js';",
  ]) {
    t.throws(joined({ 'live/main.js': `\n${line}\n` }), {
      message: `live/main.js has a line that cannot be joined: ${line}`,
    });
  }
  t.throws(joined({ 'live/main.js': "import { a } from './a.js';" }), {
    message: 'there is no module live/a.js',
  });
  t.throws(
    joined({ 'live/main.js': "import { a } from './a.js';", 'live/a.js': "import { b } from './main.js';" }),
    { message: 'live/main.js imports itself through other modules' },
  );
});
