import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { replaceSettingsTable } from '../../../src/settings/markdown.ts';

/** The root of the repository, from the source of this test or from its build. */
function repositoryRoot(): URL {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) {
    const parent = new URL('..', folder);
    if (parent.href === folder.href) throw new Error(`no package.json above ${import.meta.url}`);
    folder = parent;
  }
  return folder;
}

t.test('the README holds the table of settings as the code declares them', async t => {
  const readme = readFileSync(new URL('README.md', repositoryRoot()), 'utf8');
  t.equal(readme, replaceSettingsTable(readme), 'write what replaceSettingsTable(readme) gives to README.md');
});
