import { Problem } from '../checks/problem.ts';
import { PROBLEMS, type ProblemCode } from '../checks/problem-list.ts';
import type { RenderedResponse, RestCalls, RestHead } from '../http/http.ts';
import type { TenantAsk } from '../http/tenant-ask.ts';

type Answer = Readonly<Record<string, unknown>>;

/** Answers questions about tenants, in the thread that has the operator's API. */
export interface Tenants {
  /**
   * The answer as an object that can be serialized as JSON.
   * @throws (rejects with) Problem
   */
  ask(ask: TenantAsk): Promise<Answer>;
}

/** Passes questions on to a REST thread, so that neither the store nor long lists take time of this thread. */
export class AskedTenants implements Tenants {
  readonly #calls: Pick<RestCalls, 'begin'>;

  constructor(calls: Pick<RestCalls, 'begin'>) {
    this.#calls = calls;
  }

  ask(ask: TenantAsk): Promise<Answer> {
    const isChange = ask.kind === 'change' || ask.kind === 'owner_token';
    const head: RestHead = {
      method: isChange ? 'POST' : 'GET',
      host: '',
      path: '',
      query: '',
      headers: {},
      remoteAddress: '',
      tenantAsk: ask,
    };
    return new Promise((resolve, reject) => {
      this.#calls.begin(head, [], {
        admitted: () => {},
        waits: () => {},
        answered: response => {
          const json = bodyOf(response);
          if (response.status < 300) resolve(json);
          else reject(problemIn(json));
        },
      });
    });
  }
}

function bodyOf({ body }: RenderedResponse): Answer {
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString());
}

function problemIn({ code, detail, errors }: Answer): Problem {
  const known =
    typeof code === 'string' && Object.hasOwn(PROBLEMS, code) ? (code as ProblemCode) : 'internal';
  return new Problem(known, String(detail), Array.isArray(errors) ? { errors } : {});
}
