// Writes the table of settings into README.md: `npm run settings-table`, after a change of src/settings.
import { readFileSync, writeFileSync } from 'node:fs';

const readme = new URL('../../README.md', import.meta.url);
const { replaceSettingsTable } = await import('../../build/src/settings/markdown.js');
writeFileSync(readme, replaceSettingsTable(readFileSync(readme, 'utf8')));
