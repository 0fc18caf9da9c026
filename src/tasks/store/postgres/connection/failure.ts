import { asError } from '../../../../base/fault.ts';
import type { TroubleName } from '../../trouble.ts';

/** What is known of a failure. */
interface Known {
  readonly trouble: TroubleName;
  /** Null if the message of the server says it all. */
  readonly advice: string | null;
}

const PASSWORD = 'check the user and the password in TASKS_POSTGRES_URL or TASKS_POSTGRES_PASSWORD_FILE';

/** Errors of PostgreSQL by their SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html), or its class. */
const KNOWN: Readonly<Record<string, Known>> = {
  '25006': {
    trouble: 'postgres_read_only',
    advice: 'the server is a standby: TASKS_POSTGRES_URL must lead to the primary',
  },
  '28': { trouble: 'postgres_access', advice: PASSWORD },
  '3D000': {
    trouble: 'postgres_access',
    advice: 'create the database, or correct its name in TASKS_POSTGRES_URL',
  },
  '42501': { trouble: 'postgres_access', advice: 'grant the user what the reason names' },
  '3F000': { trouble: 'postgres_layout', advice: 'restart the service, which creates what is missing' },
  '42883': { trouble: 'postgres_layout', advice: 'restart the service, which creates what is missing' },
  '42P01': { trouble: 'postgres_layout', advice: 'restart the service, which creates what is missing' },
  '53100': { trouble: 'postgres_disk', advice: 'free space on the disk of the server' },
  '58030': { trouble: 'postgres_disk', advice: 'check the disk of the server' },
  '53300': {
    trouble: 'postgres_connections',
    advice: 'raise max_connections of the server, or lower TASKS_POSTGRES_CONNECTIONS',
  },
  '55P03': {
    trouble: 'no_answer',
    advice: 'end the session that locks tables of the schema sluice; pg_locks shows it',
  },
  '57014': { trouble: 'no_answer', advice: null },
  '57P': { trouble: 'not_connected', advice: null },
  '08': { trouble: 'not_connected', advice: null },
};

/** Errors after which nothing has happened, and which may be gone when the same is tried again. */
const PASSING: readonly string[] = ['40001', '40P01', '25006', '55P03', '57P03', '53300'];

/** The SQLSTATE of an error of the server; null for other errors, which have codes such as `EPIPE`. */
export function sqlState(failure: unknown): string | null {
  const { code, severity } = (failure ?? {}) as { readonly code?: string; readonly severity?: string };
  return severity === undefined ? null : (code ?? null);
}

/** What is known of an error of the server; null if it is not from the server, or unknown. */
export function knownFailure(failure: unknown): Known | null {
  const state = sqlState(failure);
  if (state === null) return null;
  return KNOWN[state] ?? KNOWN[state.slice(0, 3)] ?? KNOWN[state.slice(0, 2)] ?? null;
}

/** Whether a statement that failed has not happened and can be repeated. */
export function isPassing(failure: unknown): boolean {
  return PASSING.includes(sqlState(failure) ?? '');
}

/**
 * Whether the statement has not happened. It fails as a whole, unless the connection was lost or the session was ended: then
 * it may have been committed before.
 */
export function hasNotHappened(failure: unknown): boolean {
  const state = sqlState(failure);
  return state !== null && !state.startsWith('08') && !state.startsWith('57P');
}

/** Whether the connection must not be used again. */
export function breaksConnection(failure: unknown): boolean {
  return !hasNotHappened(failure) || sqlState(failure) === '25006';
}

/** The text of an error; some errors of Node.js have only a code, or are several. */
export function messageOf(failure: unknown): string {
  const error = asError(failure) as Error & { errors?: readonly unknown[] };
  if (error.errors !== undefined) return error.errors.map(messageOf).join('; ');
  return error.message || String((error as { code?: unknown }).code ?? 'unknown');
}
