/** A user in answers. */
export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: 'owner' | 'admin' | 'member' | 'viewer';
  readonly status: 'invited' | 'active' | 'disabled';
  readonly external_id: string | null;
  readonly last_seen_at: string | null;
  readonly created_at: string;
  readonly version: number;
}

/** A token of a user, without its value. */
export interface Token {
  readonly id: string;
  readonly name: string;
  /** Null for all that the role of the user allows. */
  readonly scopes: readonly string[] | null;
  readonly expires_at: string;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

/** What each role may do, for choices and explanations. */
export const ROLES: Readonly<Record<User['role'], string>> = {
  viewer: 'reads everything except payloads',
  member: 'manages tasks',
  admin: 'manages everything except owners',
  owner: 'manages everything',
};
