/** The claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * The value of a claim as text; empty if there is none, or if it is neither a text nor a number nor a boolean. A name with
 * dots is that of a claim with these dots, or else the path of a claim in another one.
 */
export function claimOf(claims: Claims | null, name: string): string {
  if (claims === null) return '';
  const own = ownClaim(claims, name);
  if (own !== undefined) return textOf(own);
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null) return '';
    value = ownClaim(value as Claims, part);
  }
  return textOf(value);
}

function ownClaim(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}
