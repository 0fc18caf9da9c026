import type { ApiToken, Role, Scope, User } from '../../../src/tasks/model/documents.ts';
import type { Ask } from '../steps/step.ts';
import type { AnsweredCall, Ledger } from '../world/ledger.ts';
import type { Taking } from '../world/pull-worker.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { Report } from './violations.ts';

interface Need {
  readonly roles: readonly Role[];
  readonly scope: Scope;
}

const ADMINS = ['owner', 'admin'] as const;
const MEMBERS = [...ADMINS, 'member'] as const;
const ALL = [...MEMBERS, 'viewer'] as const;

/** What the documentation says of the calls that people make in histories. */
const NEEDS: readonly (readonly [call: RegExp, Need])[] = [
  [/^GET tasks/, { roles: ALL, scope: 'tasks:read' }],
  [/^POST tasks/, { roles: MEMBERS, scope: 'tasks:write' }],
  [/^GET workers/, { roles: ALL, scope: 'workers:read' }],
  [/^(PATCH|POST) workers/, { roles: ADMINS, scope: 'workers:write' }],
  [/^GET users/, { roles: ADMINS, scope: 'users:read' }],
];
const LEASES: Need = { roles: MEMBERS, scope: 'leases' };

interface RightParts {
  readonly documents: KnownDocuments;
  readonly ledger: Ledger;
  /** How old what a process knows of a user or a token may be at this time. */
  readonly staleMs: (atMs: number) => number;
  readonly report: Report;
}

/** What a person was at some time; null for nobody. */
type Right = { readonly role: Role; readonly scopes: readonly Scope[] | null } | null;

/** Compares what people were answered with what they might do at that time. */
export class RightChecks {
  readonly #parts: RightParts;

  constructor(parts: RightParts) {
    this.#parts = parts;
  }

  finish(takings: readonly Taking[]): void {
    for (const call of this.#parts.ledger.calls)
      if (call.step.as !== undefined) this.#call(call, call.step.as);
    for (const { tenant, person, answeredMs } of takings) {
      if (person === undefined) continue;
      const rights = this.#rights(tenant, person, answeredMs, answeredMs);
      if (rights.every(right => !may(right, LEASES)))
        this.#parts.report('rights hold', `${person} got tasks at ${answeredMs}, and might not`);
    }
  }

  #call({ step, answer, answeredMs }: AnsweredCall, person: string): void {
    if (answer === null) return;
    const { report } = this.#parts;
    const need = needOf(step);
    const rights = this.#rights(step.tenant, person, answer.atMs, answeredMs);
    const words = `${step.method} ${step.path} of ${person} at ${answer.atMs} was answered with ${answer.status}`;
    const isRefused = answer.status === 401 || answer.status === 403;
    if (!isRefused && answer.status < 300 && rights.every(right => !may(right, need)))
      report('rights hold', `${words}, and might not be made`);
    if (isRefused && rights.every(right => may(right, need)) && this.#isActive(step.tenant, answer.atMs))
      report('rights hold', `${words}, and might be made`);
    const payload = step.method === 'GET' ? answer.json?.payload : undefined;
    if (payload != null && rights.every(right => !seesPayloads(right)))
      report('rights hold', `${words}, with a payload that is not for it`);
  }

  #isActive(tenant: string, atMs: number): boolean {
    const { documents, staleMs } = this.#parts;
    const accounts = documents.between(tenant, 'account', 'account', atMs - staleMs(atMs), atMs);
    return accounts.every(body => body?.status === 'active');
  }

  /** All that the person may have been in the eyes of a process. */
  #rights(tenant: string, person: string, atMs: number, untilMs: number): readonly Right[] {
    const { documents, ledger, staleMs } = this.#parts;
    const fromMs = atMs - staleMs(atMs);
    const users = documents.between(tenant, 'user', ledger.idOf(`${person}user`) ?? '', fromMs, untilMs);
    const tokens = documents.between(tenant, 'token', ledger.idOf(`${person}token`) ?? '', fromMs, untilMs);
    return users.flatMap(user => tokens.map(token => rightOf(user, token)));
  }
}

function rightOf(user: User | null, token: ApiToken | null): Right {
  if (user === null || token === null || user.status === 'disabled') return null;
  return { role: user.role, scopes: token.scopes };
}

function may(right: Right, { roles, scope }: Need): boolean {
  return right !== null && roles.includes(right.role) && (right.scopes?.includes(scope) ?? true);
}

function seesPayloads(right: Right): boolean {
  return may(right, { roles: MEMBERS, scope: 'tasks:payload' });
}

function needOf({ method, path }: Ask): Need {
  return NEEDS.find(([call]) => call.test(`${method} ${path}`))![1];
}
