import { createHash } from 'node:crypto';
import { BLOCKS } from '../sql/claims/blocks.ts';
import { CANDIDATES, GROUP_CANDIDATES } from '../sql/claims/candidates.ts';
import { BOUNDS, CLAIM, START } from '../sql/claims/claim.ts';
import { GROUP_LINES } from '../sql/claims/group-lines.ts';
import { GROUPS } from '../sql/claims/groups.ts';
import { HINTS } from '../sql/claims/hints.ts';
import { APPLY, PUT_DOCUMENT } from '../sql/documents/changes.ts';
import { DUE_DOCUMENTS, FIND_DOCUMENTS } from '../sql/documents/find.ts';
import { IDEMPOTENCY } from '../sql/documents/idempotency.ts';
import { DUE } from '../sql/lists/due.ts';
import { LISTS, READS } from '../sql/lists/reads.ts';
import { NAMES } from '../sql/names.ts';
import { REMOVAL } from '../sql/removal.ts';
import { TALLIES } from '../sql/tallies.ts';
import { CALLBACKS } from '../sql/tasks/callbacks.ts';
import { CHANGE } from '../sql/tasks/change.ts';
import { CONTENT } from '../sql/tasks/content.ts';
import { CREATE, CREATE_REQUEST, INSERT, NEW_KEYS } from '../sql/tasks/create.ts';
import { KEYS } from '../sql/tasks/keys.ts';
import { LEASES } from '../sql/tasks/leases.ts';
import { SAVING } from '../sql/tasks/saving.ts';
import { SETTLE } from '../sql/tasks/settle.ts';
import { USAGE } from '../sql/usage.ts';

const TEXT = [
  ...[NAMES, TALLIES, HINTS, GROUPS, SAVING, KEYS, CALLBACKS, CONTENT, IDEMPOTENCY, PUT_DOCUMENT, APPLY],
  ...[INSERT, NEW_KEYS, CREATE, CREATE_REQUEST, CHANGE, CANDIDATES, GROUP_CANDIDATES, GROUP_LINES, BOUNDS],
  ...[START, CLAIM, SETTLE, LEASES, FIND_DOCUMENTS, DUE_DOCUMENTS, READS, LISTS, DUE, BLOCKS, USAGE, REMOVAL],
].join('');

/**
 * The schema of the functions of this version. Its name is a digest of their texts, so that versions that run at the same time
 * do not replace each other's functions.
 */
export const FUNCTION_SCHEMA = `sluice_${createHash('sha256').update(TEXT).digest('hex').slice(0, 12)}`;

/** Creates the functions. `fn` in their texts stands for the schema. */
export const FUNCTIONS = TEXT.replaceAll(/\bfn\./g, `${FUNCTION_SCHEMA}.`);
