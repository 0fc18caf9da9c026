import { TEXT, YES_FLAG } from './tasks-flags.ts';

/** Flags of `sluice tasks move`. */
export const MOVE_FLAGS = {
  from: { ...TEXT, placeholder: 'URL', help: 'the store with the tasks (default: SLUICE_MOVE_FROM)' },
  to: { ...TEXT, placeholder: 'URL', help: 'an empty store (default: SLUICE_MOVE_TO)' },
  json: { kind: 'switch', help: 'print progress and results as lines of JSON' },
} as const;

/** Flags of `sluice tasks reopen`. */
export const REOPEN_FLAGS = {
  store: { ...TEXT, placeholder: 'URL', help: 'a store that was moved (default: SLUICE_MOVE_FROM)' },
  yes: YES_FLAG,
  json: { kind: 'switch', help: 'print the result as JSON' },
} as const;
