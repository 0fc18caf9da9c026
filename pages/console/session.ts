import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type ApiCall, ApiError, callService } from '../service/call.ts';

/** Answer of `GET /api/v1/me`: the caller, and what it may do. */
export interface Me {
  readonly account: {
    readonly id: string;
    readonly domain: string;
    readonly status: 'active' | 'suspended';
  };
  readonly user: { readonly id: string; readonly email: string; readonly name: string };
  readonly role: Role;
  readonly token: { readonly id: string; readonly name: string; readonly expires_at: string } | null;
  readonly scopes: readonly Scope[] | null;
}

type Role = 'owner' | 'admin' | 'member' | 'viewer';
export type Scope =
  | `${'tasks' | 'workers' | 'schedules' | 'users'}:${'read' | 'write'}`
  | 'tasks:payload'
  | 'leases';

/** Scopes by role, as docs/tasks/security.md has them. Owners and admins have all. */
const SCOPES_OF_ROLES: Readonly<Record<'member' | 'viewer', readonly Scope[]>> = {
  member: ['tasks:read', 'tasks:write', 'tasks:payload', 'workers:read', 'schedules:read', 'leases'],
  viewer: ['tasks:read', 'workers:read', 'schedules:read'],
};

/** Somebody who has signed in: the token, and what it may do. */
interface Session {
  readonly token: string;
  readonly me: Me;
  /** Forgets the token, and says why if the user did not ask for it. */
  readonly end: (why?: string) => void;
}

/** Whether the role and the token of the caller allow what needs this scope. A suspended account cannot be changed. */
export function isAllowed({ role, scopes, account }: Me, scope: Scope): boolean {
  if (account.status === 'suspended' && scope.endsWith(':write')) return false;
  const ofRole = role === 'owner' || role === 'admin' || SCOPES_OF_ROLES[role].includes(scope);
  return ofRole && (scopes === null || scopes.includes(scope));
}

/** The session of everything below the shell. */
export const SessionContext = createContext<Session | null>(null);

/** The session. Only components that are shown after the sign-in may use it. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('used outside of a session');
  return session;
}

/** The token is kept in the storage of this tab, which the browser deletes with the tab, and never in an address. */
const STORED = 'sluice-token';

/** Who has signed in, so that a view that is loaded again need not wait for the answer to that. */
const STORED_ME = 'sluice-me';

export function storedToken(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}

/** The address of the script has the version of the page: another version may expect other fields. */
function pageVersion(): string {
  return document.querySelector('script[src]')?.getAttribute('src') ?? '';
}

/** Who had signed in when this tab asked last; null if that is not known. The service checks every call in any case. */
export function storedMe(): Me | null {
  try {
    const { version, me } = JSON.parse(sessionStorage.getItem(STORED_ME) ?? '{}');
    return version === pageVersion() ? me : null;
  } catch {
    return null;
  }
}

/** Keeps the token, and who has signed in with it, until the tab is closed. */
export function storeSession(token: string, me: Me): void {
  try {
    sessionStorage.setItem(STORED, token);
    sessionStorage.setItem(STORED_ME, JSON.stringify({ version: pageVersion(), me }));
  } catch {
    // Without storage the session ends when the page is loaded again.
  }
}

/** Forgets the token. */
export function forgetSession(): void {
  try {
    sessionStorage.removeItem(STORED);
    sessionStorage.removeItem(STORED_ME);
  } catch {
    // There is none.
  }
}

/** Whether the caller may do what needs this scope. */
export function useAllowed(scope: Scope): boolean {
  return isAllowed(useSession().me, scope);
}

/** @throws ApiError with status 401 if the token is not valid */
export function readMe(token: string, signal?: AbortSignal): Promise<Me> {
  return callService<Me>('/api/v1/me', { token, ...(signal && { signal }) });
}

/** Calls the API. The path is below `/api/v1`; `read` as for {@link callService}. */
type Call = <Answer>(
  path: string,
  call?: Omit<ApiCall, 'token'>,
  read?: (text: string) => unknown,
) => Promise<Answer>;

/**
 * A function that calls the API of the tenant as the signed-in user. A token that is no longer valid ends the session.
 * It rejects with an ApiError.
 */
export function useCall(): Call {
  const { token, end } = useSession();
  return async (path, call = {}, read) => {
    try {
      return await callService(`/api/v1${path}`, { ...call, token }, read);
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === 401) end(thrown.message);
      throw thrown;
    }
  };
}
