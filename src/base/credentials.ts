/** Who asks a server. Empty for nobody. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Reads `password` or `user:password`, split at the first colon: without one it is a password. Null for an empty text. */
export function parseCredentials(text: string): Credentials | null {
  if (text === '') return null;
  const colon = text.indexOf(':');
  return { username: text.slice(0, Math.max(colon, 0)), password: text.slice(colon + 1) };
}
