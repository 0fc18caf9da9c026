import type { Ask, Step } from '../steps/step.ts';
import type { CallAnswer } from './callers.ts';

/** A call of a step, and what it was answered; null without an answer. */
export interface AnsweredCall {
  readonly step: Step & Ask;
  /** The task in its path. */
  readonly taskId: string | null;
  readonly answer: CallAnswer | null;
  readonly idempotencyKey: string | undefined;
  readonly askedMs: number;
  readonly answeredMs: number;
}

/** A call that was made a second time, long after it was answered. */
export interface RepeatedCall {
  readonly first: AnsweredCall;
  readonly answer: CallAnswer | null;
  readonly answeredMs: number;
}

/** A list that was read from its first page to its last. */
export interface ReadList {
  readonly tenant: string;
  readonly statuses: readonly string[] | null;
  readonly ids: readonly string[];
  /** By the clock of the store, when the first page was asked for and the last one was there. */
  readonly from: number;
  readonly until: number;
}

/** What callers were answered. */
export class Ledger {
  readonly calls: AnsweredCall[] = [];
  readonly lists: ReadList[] = [];
  readonly repeats: RepeatedCall[] = [];
  /** The tokens of owners by tenant, and those of people by tenant and name. */
  readonly tokens = new Map<string, string>();
  /** The id of the task that has each label. */
  readonly #ids = new Map<string, string>();

  /** @returns the path with ids in place of labels, and the last id in it; null if a label has no task */
  resolved(path: string): { readonly path: string; readonly taskId: string | null } | null {
    let taskId: string | null = null;
    let missing = false;
    const resolved = path.replaceAll(/\{(\w+)\}/g, (_, label: string) => {
      const id = this.#ids.get(label);
      if (id === undefined) missing = true;
      else taskId = id;
      return id ?? '';
    });
    return missing ? null : { path: resolved, taskId };
  }

  /** Of the owner, or of a person; null if it never got one. */
  tokenOf(tenant: string, person?: string): string | null {
    return this.tokens.get(person === undefined ? tenant : `${tenant} ${person}`) ?? null;
  }

  idOf(label: string): string | null {
    return this.#ids.get(label) ?? null;
  }

  answered(call: AnsweredCall): void {
    this.calls.push(call);
    const { labels = [], gives, tenant } = call.step;
    const token = call.answer?.json?.token;
    if (gives !== undefined && typeof token === 'string') this.tokens.set(`${tenant} ${gives}`, token);
    const ids = idsOf(call.answer);
    labels.forEach((label, at) => {
      const id = ids[at];
      if (id != null) this.#ids.set(label, id);
    });
  }
}

/** The tasks of the answer to a creation, in order; null for one that was refused. */
export function idsOf(answer: CallAnswer | null): readonly (string | null)[] {
  if (answer === null || answer.status >= 300) return [];
  const { json } = answer;
  if (Array.isArray(json?.results)) {
    // biome-ignore lint/suspicious/noExplicitAny: an item of a batch as the interface shows it
    return json.results.map((item: any) => (item.status < 300 ? item.task.id : null));
  }
  return typeof json?.id === 'string' ? [json.id] : [];
}
