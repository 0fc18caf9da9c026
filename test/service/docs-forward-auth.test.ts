import t from 'tap';
import { DocsTerminal, readDocsPage, timeless } from '../support/docs-examples.ts';
import { writeRules } from '../support/rule-files.ts';
import { startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

// docs/forward-auth.md: its rule files are served, and its commands print what the page shows.

t.test('the examples of docs/forward-auth.md are true', async t => {
  const { files, examples } = readDocsPage('docs/forward-auth.md');
  t.ok(Object.keys(files).length === 2 && examples.length === 3);
  let minute: number;
  let found: string[];
  do {
    // Counts start over with the minute: a run that spans two of them says nothing.
    minute = Math.floor(Date.now() / 60_000);
    found = [];
    const directory = writeRules(tempDirectory(t), files);
    const service = await startService({ env: { RUNTIME_ROOT: directory } });
    const terminal = new DocsTerminal(service, directory);
    for (const { command } of examples) found.push(timeless(await terminal.run(command)));
    await service.terminate();
  } while (minute !== Math.floor(Date.now() / 60_000));
  t.same(
    found,
    examples.map(({ output }) => timeless(output)),
  );
});
