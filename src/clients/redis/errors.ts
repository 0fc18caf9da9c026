/**
 * Texts of errors of the client library ioredis. It has no error codes, so these texts distinguish its errors.
 * Check them at each upgrade of ioredis.
 */
export const IOREDIS_TEXT = {
  commandTimeout: 'Command timed out',
  connectionClosed: 'Connection is closed.',
  /** The beginning of the error for a reply that belongs to no command. */
  unexpectedReply: 'Command queue state error',
  notConnected: /^(Connection is closed|Stream isn't writeable|Reached the max retries)/,
  noNode: /None of startup nodes is available/,
} as const;

/** A command was not answered within its timeout. */
export class CommandTimeout extends Error {}

/** The text of a timeout. */
export function noAnswerWithin(timeoutMs: number): string {
  return `no answer within ${timeoutMs} ms`;
}

/** An error reply of Redis. The message is the text of the reply, such as `READONLY You can't write against ...`. */
export class RedisReplyError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'RedisReplyError';
  }
}

/** Adds to the message of an error what to do about it, if the server wants other credentials. */
export function explainCredentials(message: string, advice: string): string {
  const isRefused = /^(?:NOAUTH|WRONGPASS|ERR invalid password)/.test(message);
  return isRefused ? `${message.replace(/\.$/, '')} (${advice})` : message;
}

/** True if the server does not know the script of an EVALSHA. The script did not run; send its text. */
export function isUnknownScript(error: Error): boolean {
  return error.message.startsWith('NOSCRIPT');
}

/**
 * True if Redis, or a proxy in front of it, does not let this user run scripts. Redis answers NOPERM. Proxies that
 * distribute keys over several servers have their own texts.
 */
export function refusesScripts(error: RedisReplyError): boolean {
  return /^NOPERM|unknown command|unsupported|not supported|wrong number of arguments/i.test(error.message);
}

/** True for an error about one key (wrong type, not a number, overflow). All other errors are about the server. */
export function blamesKey(text: string): boolean {
  return /^(WRONGTYPE|ERR)\b/.test(text);
}

/**
 * True if a new connection may succeed. After a failover behind one address, the old master becomes a replica
 * (READONLY, MASTERDOWN) or reloads its data (LOADING). A password that was set on the server later is requested on new
 * connections only (NOAUTH).
 */
export function mayEndWithNewConnection(text: string): boolean {
  return /^(READONLY|MASTERDOWN|LOADING|NOAUTH)\b/.test(text);
}

/** True for the reply to a password if the server has none. It can be ignored. */
export function isUnaskedPassword(error: RedisReplyError): boolean {
  return /no password is set|without any password configured/.test(error.message);
}

/** An error that a script received from a command: Redis before version 7 puts the line of the script before it. */
export function withoutPlace(text: string): string {
  if (text === '') return text;
  return text.replace(/^@\w+: ?[0-9]+: -?/, '').trimEnd();
}

/** Removes secrets from an error: servers and proxies may quote the arguments of an unknown command. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  // The quote may be cut off, and a part of a secret must not appear either.
  const unquoted = text.replace(/,? with args beginning with:.*$/s, '');
  return secrets
    .filter(secret => secret !== '')
    .reduce((rest, each) => rest.replaceAll(each, '*****'), unquoted);
}

/** Maximum length of an error text of Redis in logs and responses. */
const MAX_REASON_CHARACTERS = 300;

export function shortened(text: string): string {
  return text.slice(0, MAX_REASON_CHARACTERS);
}

/** Reasons why a server does not accept writes. */
export type ServerProblem =
  | 'memory'
  | 'busy'
  | 'read_only'
  | 'disk'
  | 'access'
  | 'cluster'
  | 'replicas'
  | 'settings'
  | 'not_connected';

interface KnownError {
  /** How the error of Redis or of the client library begins. */
  readonly beginning: string;
  readonly problem: ServerProblem;
  /** The problem and the advice; null if the error message is clear by itself. */
  readonly advice: string | null;
}

const KNOWN: readonly KnownError[] = [
  {
    beginning: 'OOM',
    problem: 'memory',
    advice: 'its memory is full: raise maxmemory, or keep finished tasks for a shorter time',
  },
  { beginning: 'LOADING', problem: 'busy', advice: 'it is loading its data set from disk: wait' },
  {
    beginning: 'READONLY',
    problem: 'read_only',
    advice: 'it is a replica: the address must lead to the master',
  },
  { beginning: 'MISCONF', problem: 'disk', advice: 'it cannot write to its disk: see its log' },
  { beginning: 'NOAUTH', problem: 'access', advice: 'it requires a password' },
  { beginning: 'WRONGPASS', problem: 'access', advice: 'it rejects the user name or the password' },
  {
    beginning: 'NOPERM',
    problem: 'access',
    advice: 'the user lacks a permission: it needs ~<prefix>* with all of @scripting, @read, @write and TIME',
  },
  {
    beginning: 'BUSY',
    problem: 'busy',
    advice: 'a script of another client blocks it: SCRIPT KILL ends that script',
  },
  {
    beginning: 'CLUSTERDOWN',
    problem: 'cluster',
    advice: 'the cluster has lost slots: see CLUSTER INFO on its nodes',
  },
  {
    beginning: 'TRYAGAIN',
    problem: 'cluster',
    advice: 'the slot of the tenant is being migrated: it works again afterwards',
  },
  { beginning: 'MASTERDOWN', problem: 'cluster', advice: 'its master is unavailable' },
  {
    beginning: 'NOREPLICAS',
    problem: 'replicas',
    advice: 'it has too few replicas for min-replicas-to-write',
  },
  {
    beginning: 'Too many Cluster redirections',
    problem: 'cluster',
    advice: 'its slots are being migrated, or its nodes disagree: see CLUSTER NODES',
  },
  {
    beginning: 'max number of clients reached',
    problem: 'not_connected',
    advice: 'it accepts no more connections: raise maxclients',
  },
];

/** Explains an error of Redis or of the client library; null if the error is unknown. */
export function knownError(message: string): Pick<KnownError, 'problem' | 'advice'> | null {
  const text = message.startsWith('ERR ') ? message.slice(4) : message;
  const known = KNOWN.find(
    ({ beginning }) => text.startsWith(beginning) || message.includes(` ${beginning} `),
  );
  if (known !== undefined) return known;
  const isDown =
    IOREDIS_TEXT.notConnected.test(message) ||
    IOREDIS_TEXT.noNode.test(message) ||
    /(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT)/.test(message);
  return isDown ? { problem: 'not_connected', advice: null } : null;
}
