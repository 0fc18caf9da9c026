import t from 'tap';
import { DocsTerminal, readDocsPage, timeless } from '../support/docs-examples.ts';
import { writeRules } from '../support/rule-files.ts';
import { startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

// docs/rules.md: its rule files are served, and its commands print what the page shows.

t.test('the examples of docs/rules.md are true', async t => {
  const { files, examples } = readDocsPage('docs/rules.md');
  t.ok(Object.keys(files).length > 15 && examples.length > 30, 'the page has its examples');
  let minute: number;
  let found: string[];
  do {
    // Counts start over with the minute: a run that spans two of them says nothing.
    minute = Math.floor(Date.now() / 60_000);
    found = [];
    const directory = writeRules(tempDirectory(t), files);
    const start = (settings = {}) => startService({ env: { RUNTIME_ROOT: directory, ...settings } });
    const service = await start();
    const withMetadata = await start({ RESPONSE_DYNAMIC_METADATA: 'true' });
    for (const { command, output } of examples) {
      const asked = output.includes('dynamicMetadata') ? withMetadata : service;
      found.push(await new DocsTerminal(asked, directory).run(command));
    }
    await Promise.all([service.terminate(), withMetadata.terminate()]);
  } while (minute !== Math.floor(Date.now() / 60_000));
  for (const [index, { command, output }] of examples.entries()) {
    t.equal(sorted(command, timeless(found[index])), sorted(command, timeless(output)), command);
  }
});

/** Statistics have no order. */
function sorted(command: string, output: string): string {
  return command.includes('/stats') ? output.split('\n').sort().join('\n') : output;
}
