// Writes the reference of settings to docs/settings.md: `npm run settings-table`, after a change of src/settings.
import { writeFileSync } from 'node:fs';

const { settingsPage } = await import('../../build/src/settings/reference.js');
writeFileSync(new URL('../../docs/settings.md', import.meta.url), settingsPage());
