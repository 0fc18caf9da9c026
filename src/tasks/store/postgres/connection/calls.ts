import { type CalledFunction, FUNCTION_SCHEMA } from '../layout/functions.ts';

/** A value for PostgreSQL. JSON is passed as text. */
export type Argument = string | number | boolean | null | readonly (string | null)[];

/** A call of a function of the store (`sql`). */
export interface Call {
  readonly name: CalledFunction;
  readonly args: readonly Argument[];
  /** The tenant that it is for; empty for all tenants. */
  readonly tenant: string;
  readonly writes: boolean;
  /**
   * JSON texts of what the function is to do, if it does several things one after the other. They are its last argument, as a
   * list, and so are the answers. Calls that differ only in this are sent as one. Null for other functions.
   */
  readonly items: readonly string[] | null;
}

/** What calls must have in common to be sent as one; null for a call that is sent alone. */
export function sharedBy({ name, args, items }: Call): string | null {
  return items === null ? null : `${name} ${JSON.stringify(args)}`;
}

/** Approximate memory of a call, in characters. */
export function sizeOf({ args, items }: Call): number {
  let size = 0;
  for (const arg of args) {
    if (typeof arg === 'string') size += arg.length;
    else if (Array.isArray(arg)) size += 64 * arg.length;
    else size += 8;
  }
  for (const item of items ?? []) size += item.length;
  return size;
}

/** A statement with its values. It has one row, with the answer in the last column. */
interface Statement {
  readonly text: string;
  readonly values: readonly Argument[];
}

/**
 * The statement for calls that are sent as one. Statements are not prepared under a name, so that they work behind a pooler:
 * the plans of what functions do are kept by the connections of the server.
 *
 * @param commit the value of `synchronous_commit`; null for that of the server
 */
export function statementOf(calls: readonly Call[], commit: string | null): Statement {
  const [{ name, args, writes, items }] = calls;
  const all = items === null ? [] : [`[${calls.flatMap(call => call.items ?? []).join(',')}]`];
  const values = [...args.map(sendable), ...all];
  const set = writes && commit !== null ? `set_config('synchronous_commit', '${commit}', true), ` : '';
  const places = values.map((_, i) => `$${i + 1}`).join(', ');
  return { text: `SELECT ${set}${FUNCTION_SCHEMA}.${name}(${places})`, values };
}

/** A text with U+0000, which PostgreSQL refuses, is nowhere stored. What is looked up by it is not found. */
function sendable(arg: Argument): Argument {
  return typeof arg === 'string' ? arg.replaceAll('\0', '\ufffd') : arg;
}

/** The answers to calls that were sent as one. */
export function answersTo(calls: readonly Call[], answer: unknown): readonly unknown[] {
  if (calls[0].items === null) return [answer];
  const all = answer as readonly unknown[];
  let from = 0;
  return calls.map(({ items }) => {
    const count = (items as readonly string[]).length;
    from += count;
    return all.slice(from - count, from);
  });
}
