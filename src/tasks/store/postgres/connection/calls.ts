import { FUNCTION_SCHEMA } from '../layout/functions.ts';

/** A value for PostgreSQL. JSON is passed as text. */
export type Argument = string | number | boolean | null | readonly (string | null)[];

/** Functions of which several calls are sent as one statement, with the types of the arguments that differ. */
const TOGETHER = {
  create_tasks: ['text', 'json', 'json'],
  extend: ['text', 'text', 'bigint', 'text', 'text'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A call of a function of the store (`sql`). */
export interface Call {
  readonly name: string;
  /** Of functions that are called together, all but the first one differ. */
  readonly args: readonly Argument[];
  /** The tenant that it is for; empty for all tenants. */
  readonly tenant: string;
  readonly writes: boolean;
}

export function isCalledTogether({ name }: Pick<Call, 'name'>): boolean {
  return name in TOGETHER;
}

/** Approximate memory of a call, in characters. */
export function sizeOf({ args }: Call): number {
  let size = 0;
  for (const arg of args) {
    if (typeof arg === 'string') size += arg.length;
    else if (Array.isArray(arg)) size += 64 * arg.length;
    else size += 8;
  }
  return size;
}

/** A statement with its values. Each row is the answer of a call, in the last column. */
interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * The statement for calls of one function. Statements are not prepared under a name, so that they work behind a pooler: the
 * plans of what functions do are kept by the connections of the server.
 *
 * @param calls several only of a function for which {@link isCalledTogether} is true
 * @param commit the value of `synchronous_commit`; null for that of the server
 */
export function statementOf(calls: readonly Call[], commit: string | null): Statement {
  const [{ name, args, writes }] = calls;
  const set = writes && commit !== null ? `set_config('synchronous_commit', '${commit}', true), ` : '';
  const called = `SELECT ${set}${FUNCTION_SCHEMA}.${name}`;
  if (calls.length === 1) {
    return { text: `${called}(${args.map((_, i) => `$${i + 1}`).join(', ')})`, values: args };
  }
  const types: readonly string[] = TOGETHER[name as keyof typeof TOGETHER];
  const columns = types.map((_, i) => `c${i}`).join(', ');
  const arrays = types.map((type, i) => `$${i + 2}::${type}[]`).join(', ');
  return {
    text: `${called}($1, ${columns}) FROM unnest(${arrays}) AS u (${columns})`,
    values: [args[0], ...types.map((_, i) => calls.map(call => call.args[i + 1]))],
  };
}
