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
 * becomes a replica, with or without a master of its own, or loads its data anew, and a password that was set
 * afterwards is asked of new connections only.
 */
export function mayEndWithNewConnection(text: string): boolean {
  return /^(READONLY|MASTERDOWN|LOADING|NOAUTH)\b/.test(text);
}

/** An error that a script met: before version 7 Redis puts the place in the script before it, and ends the line. */
export function withoutPlace(text: string): string {
  if (text === '') return text;
  return text.replace(/^@\w+: ?[0-9]+: -?/, '').trimEnd();
}

/** Redis, and what is before it, may quote a command that it does not know. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  // What is quoted may be cut, and a part of a secret is one too.
  const unquoted = text.replace(/,? with args beginning with:.*$/s, '');
  return secrets
    .filter(secret => secret !== '')
    .reduce((rest, each) => rest.replaceAll(each, '*****'), unquoted);
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
