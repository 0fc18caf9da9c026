import { COMMON_FLAGS, CREATE_ACCOUNT_FLAGS, SERVICE_FLAGS, YES_FLAG } from './tasks-flags.ts';

const TEXT = { kind: 'text', default: '' } as const;

const EXPORT_TOKEN = {
  kind: 'switch',
  help: 'print a shell command that sets SLUICE_TOKEN, nothing else',
} as const;

export const DELETE_ACCOUNT_FLAGS = { ...SERVICE_FLAGS, yes: YES_FLAG } as const;

export const OWNER_TOKEN_FLAGS = { ...SERVICE_FLAGS, export: CREATE_ACCOUNT_FLAGS.export } as const;

export const USER_FLAGS = {
  ...COMMON_FLAGS,
  name: { ...TEXT, placeholder: 'TEXT', help: 'the name of the user' },
  role: { ...TEXT, placeholder: 'WORD', help: 'owner, admin, member or viewer' },
  status: { ...TEXT, placeholder: 'WORD', help: 'invited, active or disabled' },
  'external-id': { ...TEXT, placeholder: 'TEXT', help: 'the id of the user at an identity provider' },
} as const;

export const UPDATE_USER_FLAGS = {
  ...USER_FLAGS,
  email: { ...TEXT, placeholder: 'ADDRESS', help: 'another address' },
} as const;

export const CREATE_TOKEN_FLAGS = {
  ...COMMON_FLAGS,
  name: { ...TEXT, placeholder: 'TEXT', help: 'what the token is for' },
  scopes: {
    ...TEXT,
    placeholder: 'LIST',
    help: 'only these of what the role allows: tasks:read,tasks:write; without it, all',
  },
  'expires-at': { ...TEXT, placeholder: 'TIME', help: 'when it expires; without it, in 90 days' },
  export: EXPORT_TOKEN,
} as const;

export const CREATE_SECRET_FLAGS = {
  ...COMMON_FLAGS,
  type: {
    kind: 'text',
    placeholder: 'WORD',
    default: 'signing',
    help: 'signing, header (a confidential header), or token (for a pull worker)',
  },
  name: { ...TEXT, placeholder: 'TEXT', help: 'a label; of a header, its name' },
  'value-from': { ...TEXT, placeholder: 'FILE', help: 'a file that holds the value; - is standard input' },
  'expire-previous-in': {
    ...TEXT,
    placeholder: 'DURATION',
    help: 'how long earlier secrets of the type and name stay valid: 0s to 7d; without it, 24h',
  },
  export: {
    kind: 'switch',
    help: 'print a shell command that sets WEBHOOK_SECRET or WORKER_TOKEN, nothing else',
  },
} as const;

export const AUDIT_FLAGS = {
  ...COMMON_FLAGS,
  limit: { kind: 'text', placeholder: 'N', default: '50', help: 'maximum number of entries' },
} as const;

export const COUNTS_FLAGS = {
  ...COMMON_FLAGS,
  worker: { ...TEXT, placeholder: 'NAME', help: 'only tasks of this worker' },
} as const;

export const DELETE_WORKER_FLAGS = {
  ...COMMON_FLAGS,
  'cancel-tasks': { kind: 'switch', help: 'cancel the tasks of the worker that have not ended' },
} as const;
