import { callService } from '../../../service/call.ts';
import type { Descriptor, Entry } from '../../descriptor.ts';

/** A limit that applies, as the service explains it. */
export interface ExplainedLimit {
  /** Null for the limit of a request. */
  readonly rule: string | null;
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly window?: string;
  readonly algorithm?: string;
  readonly burst?: number;
  /** The share of the hits beyond the limit that pass, such as `10%`; absent if none do. */
  readonly afterLimit?: string;
  /** How many hits one of the requests is worth; absent for 1. */
  readonly scale?: number;
  /** What proxies get of the limit, such as `80%`; absent for the usual part. */
  readonly quota?: { readonly share: string; readonly forSeconds: number };
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
}

/** How a limit would count. */
interface Counting {
  readonly key?: string;
  readonly window?: { readonly start: string; readonly end: string; readonly resetSeconds: number };
  readonly count?: { readonly now: number; readonly after: number; readonly heldBack: boolean } | null;
  /** Absent for a limit without classes. The name is null if the request has none of them. */
  readonly class?: { readonly name: string | null; readonly share: string; readonly most: number };
  /** Absent for a limit without leases. Times are in RFC 3339, and the step is a sentence without a period. */
  readonly leases?: {
    readonly spent: number;
    readonly held: number;
    /** The number of leases; absent if the store cannot tell it. */
    readonly count?: number;
    /** When the first lease ends; null without leases. */
    readonly firstEnds: string | null;
    readonly step: string;
  };
  /** Absent for a limit without a penalty. */
  readonly penalty?: {
    readonly violations: number;
    readonly after: number;
    readonly penalties: number;
    /** Null if the key is not penalized. */
    readonly penalizedUntil: string | null;
  };
  /** Absent unless a share passes after the limit and the request gets beyond it. */
  readonly beyondLimit?: { readonly hits: number; readonly passes: boolean };
}

/** One of several limits of a rule. */
export interface ExplainedPart extends Counting {
  readonly limit: ExplainedLimit;
  readonly outcome: string;
  /** Whether it decides. */
  readonly binds: boolean;
  readonly why?: string;
}

/** One level of the rules, and what matched there. */
interface Level {
  readonly entry: string;
  /** Null if nothing matched. */
  readonly rule: string | null;
  readonly matched: string | null;
}

/** What would become of a descriptor, and why. */
export interface ExplainedDescriptor extends Counting {
  readonly entries: readonly Entry[];
  readonly outcome: string;
  readonly why: string;
  readonly levels: readonly Level[];
  readonly limit?: ExplainedLimit;
  readonly limits?: readonly ExplainedPart[];
  readonly steering?: {
    readonly id: string;
    readonly effect: string;
    readonly until: string;
    readonly reason: string;
  };
  readonly status: { readonly code?: string; readonly limitRemaining?: number };
}

/** The answer of `/explain`. */
export interface Explanation {
  readonly time: string;
  readonly descriptors: readonly ExplainedDescriptor[];
  readonly answer: { readonly overallCode?: string };
}

/** A request to explain. */
export interface Question {
  readonly domain: string;
  readonly descriptors: readonly (readonly Entry[])[];
}

/**
 * Asks what would become of a request. Nothing is counted.
 *
 * @throws ApiError
 */
export function explain({ domain, descriptors }: Question, signal: AbortSignal): Promise<Explanation> {
  const body = { domain, descriptors: descriptors.map(entries => ({ entries })) };
  return callService<Explanation>('/explain', { method: 'POST', body, signal });
}

/** The parameters of the address for a question about one descriptor. */
export function explainQuery({ domain, entries }: Descriptor): Readonly<Record<string, string>> {
  return { view: 'explain', ...questionQuery({ domain, descriptors: [entries] }) };
}

/** The parameters of the address for a question: `ask` has a list of keys and values for each descriptor. */
export function questionQuery({ domain, descriptors }: Question): Readonly<Record<string, string>> {
  const ask = descriptors.map(entries => entries.flatMap(({ key, value }) => [key, value]));
  return { domain, ask: JSON.stringify(ask) };
}

/** Reads {@link questionQuery}. An address that somebody has changed gives a question without entries. */
export function readQuestion(query: Readonly<Record<string, string>>): Question {
  const { domain = '', ask = '' } = query;
  let lists: unknown;
  try {
    lists = JSON.parse(ask);
  } catch {
    lists = [];
  }
  const descriptors = Array.isArray(lists) ? lists.map(entriesOf).filter(entries => entries.length > 0) : [];
  return { domain, descriptors };
}

function entriesOf(list: unknown): readonly Entry[] {
  if (!Array.isArray(list)) return [];
  const texts = list.map(String);
  return Array.from({ length: Math.ceil(texts.length / 2) }, (_, i) => ({
    key: texts[2 * i],
    value: texts[2 * i + 1] ?? '',
  }));
}
