import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { repositoryRoot } from '../../support/repository.ts';
import { repositoryFiles } from './files.ts';
import { exportFaults, sizeFaults } from './house.ts';

const root = repositoryRoot();
const code = new Map(
  repositoryFiles(root)
    .filter(path => /\.(?:tsx?|mjs)$/.test(path))
    .map(path => [path, readFileSync(join(root, path), 'utf8')]),
);
/** Code that people read. Generated files may be of any length. */
const SOURCES = /^(?:(?:src|workers|pages|examples)|clients\/\w+\/src(?!\/generated))\//;
const sources = new Map([...code].filter(([path]) => SOURCES.test(path)));

t.test('a source has at most 400 lines, and a folder at most 20 sources', async t => {
  t.ok(sources.size > 100, 'there are sources to look at');
  const ofClient = [...sources.keys()].filter(path => path.startsWith('clients/'));
  t.ok(ofClient.includes('clients/typescript/src/client.ts'));
  t.notOk(
    ofClient.some(path => path.includes('generated')),
    'what is generated has no limit',
  );
  t.same(sizeFaults(sources), []);
  t.match(sizeFaults(new Map([['src/a.ts', '\n'.repeat(401)]])), [/^src\/a\.ts has 401 lines/]);
  const many = Array.from({ length: 21 }, (_, i) => [`src/a/${i}.ts`, ''] as const);
  t.match(sizeFaults(new Map(many)), [/^src\/a has 21 files/]);
});

t.test('a name is exported only if another file imports it', async t => {
  t.same(exportFaults(sources, code), []);
  const lonely = new Map([['src/a.ts', 'export const lonely = 1;\nexport function used() {}\n']]);
  const users = new Map([...lonely, ['src/b.ts', "import { used } from './a.ts';\n"]]);
  t.same(exportFaults(lonely, users), ['src/a.ts exports lonely, which no other file imports']);
});

t.test('every path in ARCHITECTURE.md and CONTRIBUTING.md exists', async t => {
  for (const page of ['ARCHITECTURE.md', 'CONTRIBUTING.md']) {
    const text = readFileSync(join(root, page), 'utf8');
    const paths = [...text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|md))`/g)].map(([, path]) => path);
    t.ok(paths.length > 0, 'there are paths to look at');
    const found = (path: string): boolean =>
      [path, `src/${path}`, `src/transports/http/${path}`, `src/tasks/rest/${path}`].some(each =>
        existsSync(join(root, each)),
      );
    t.same(
      paths.filter(path => !found(path)),
      [],
      page,
    );
  }
});
