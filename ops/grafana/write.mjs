// Writes sluice.json from the panels: `npm run dashboard`, after a change of questions.mjs or panels.mjs.
import { writeFileSync } from 'node:fs';
import { dashboard } from './dashboard.mjs';

writeFileSync(new URL('sluice.json', import.meta.url), `${JSON.stringify(dashboard(), null, 2)}\n`);
