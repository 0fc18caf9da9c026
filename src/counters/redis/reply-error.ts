/** Redis answered a command with an error. The message is its text: `READONLY You can't write against ...`. */
export class RedisReplyError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'RedisReplyError';
  }
}

/** Scripts that are not known are sent again with their text. */
export function isUnknownScript(error: RedisReplyError): boolean {
  return error.message.startsWith('NOSCRIPT');
}

/**
 * True when Redis, or a proxy before it, does not run scripts for us. There is no code for it: an access list says
 * NOPERM, proxies that spread keys over servers have words of their own.
 */
export function refusesScripts(error: RedisReplyError): boolean {
  return /^NOPERM|unknown command|unsupported|not supported|wrong number of arguments/i.test(error.message);
}

/** True for an error that lies with one key: another type, no number, an overflow. All others lie with the server. */
export function blamesKey(text: string): boolean {
  return /^(WRONGTYPE|ERR)\b/.test(text);
}

/**
 * True when another connection may find a Redis that counts: after a failover behind one address the old master
 * becomes read-only, or loads its data anew, and a password that was set afterwards is asked of new connections only.
 */
export function mayEndWithNewConnection(text: string): boolean {
  return /^(READONLY|LOADING|NOAUTH)\b/.test(text);
}

/** True for the refusal of a password that nobody asks for, which does no harm. */
export function isUnaskedPassword(error: RedisReplyError): boolean {
  return /no password is set|without any password configured/.test(error.message);
}

/** The longest text of Redis that is passed on. */
const MAX_REASON_CHARACTERS = 300;

/** A text of Redis for logs and callers. */
export function shortened(text: string): string {
  return text.slice(0, MAX_REASON_CHARACTERS);
}
