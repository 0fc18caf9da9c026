import { UNIT_NAMES } from '../../messages/current-limit.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { CODE, type DecisionBatch, heldAfter, KIND, OVERRIDDEN, PENALIZED, usedAfter } from '../batch.ts';
import type { CountingTerms } from '../limits/counting-terms.ts';
import { nameOfLimit } from '../metric-key.ts';
import { type GlobalModes, overallCode } from '../overall-code.ts';
import type { LogTexts } from './log-texts.ts';

/** The limit that a record is about. */
export interface LoggedLimit {
  readonly request: number;
  /** The row of the descriptor. */
  readonly descriptor: number;
  /** The row of the limit. It is another one if the rule has several limits. */
  readonly row: number;
}

interface RecordParts {
  readonly batch: DecisionBatch;
  readonly rules: CompiledRules;
  /** Modes that apply to all rules. */
  readonly modes: GlobalModes;
  readonly texts: LogTexts;
  /** Number of records that were dropped before this one. */
  readonly dropped: number;
}

/**
 * One line of the decision log: a decision about one limit, as JSON. At most about 16 KiB, because every text is short, and
 * an escaped byte takes six. Fields without a value are omitted:
 *
 * - `time`: of the decision, ISO 8601
 * - `code`: OVER_LIMIT if the limit is exceeded, also in shadow mode
 * - `shadow`: true if the limit is exceeded, but not enforced
 * - `response`: the overall code of the response
 * - `domain`, `descriptor`: of the request; the entries as `key=value`
 * - `rule`, `name`: path and name of the limit; missing for the limit that a request carries
 * - `key`: the cache key
 * - `count`: hits in the window after this request; missing if the store was not asked
 * - `held`: the part of `count` that leases hold; only of limits with leases
 * - `limit`, `window`, `algorithm`: terms of the limit: `hour`, `5m` or `concurrency` as in rule files, the algorithm
 *   unless it is a fixed window
 * - `overridden`: true if a steering record has replaced `limit`
 * - `class`: of the request, if the limit has it
 * - `penalized`: true if the request was rejected because the key is penalized
 * - `remaining`: hits that are left
 * - `hits`, `refund`: of the request
 * - `source`: what decided: `store`, `local_cache`, `failure_mode` if the store has failed, or `ban`
 * - `peer`, `trace_id`: of the caller
 * - `dropped`: number of earlier records that were dropped because of the rate
 */
export function logRecord({ request, descriptor, row }: LoggedLimit, parts: RecordParts): string {
  const { batch, rules, modes, texts, dropped } = parts;
  const { requests, decisions, replies, nowMs } = batch;
  const isOver = decisions.isOver[row] === 1;
  const isShadow = isOver && (modes.shadow || decisions.code[row] !== CODE.overLimit);
  const overall = modes.shadow ? CODE.ok : overallCode(batch, request, modes);
  const { origin } = replies[request];
  return jsonLine({
    time: new Date(nowMs).toISOString(),
    code: codeName(isOver),
    shadow: isShadow || undefined,
    response: codeName(overall === CODE.overLimit),
    domain: texts.plain(requests.bytes, requests.domainStart[request], requests.domainEnd[request]),
    descriptor: texts.entries(requests, descriptor),
    ...ruleOf(rules, decisions.limit[row], texts),
    ...(decisions.kind[row] !== KIND.banned && limitOf(parts, row)),
    hits: decisions.hits[row],
    refund: requests.isRefund[descriptor] === 1 || undefined,
    source: sourceOf(batch, row),
    peer: origin?.peer || undefined,
    trace_id: origin?.traceId || undefined,
    dropped: dropped || undefined,
  });
}

function codeName(isOver: boolean): string {
  return isOver ? 'OVER_LIMIT' : 'OK';
}

/** Nothing for a limit that the request carries. */
function ruleOf(rules: CompiledRules, limit: number, texts: LogTexts): { rule?: string; name?: string } {
  if (limit < 0) return {};
  const name = nameOfLimit(rules, limit);
  return {
    rule: shortText(rules.path(limit), texts),
    ...(name !== '' && { name: shortText(name, texts) }),
  };
}

function shortText(text: string, texts: LogTexts): string {
  const bytes = Buffer.from(text);
  return texts.plain(bytes, 0, bytes.length);
}

/** Terms and state of a limit. A ban has none. */
function limitOf({ batch, texts }: RecordParts, row: number): Readonly<Record<string, unknown>> {
  const { decisions, keys } = batch;
  const terms = decisions.terms[row]?.window.terms;
  const used = usedAfter(batch, row);
  const held = heldAfter(batch, row);
  return {
    key: texts.personal(keys.bytes, decisions.keyStart[row], decisions.keyEnd[row]),
    count: Number.isNaN(used) ? undefined : used,
    limit: decisions.requestsPerUnit[row],
    overridden: (decisions.flags[row] & OVERRIDDEN) !== 0 || undefined,
    held: Number.isNaN(held) ? undefined : held,
    window: terms?.window ?? UNIT_NAMES[decisions.unit[row]].toLowerCase(),
    algorithm: terms === undefined || terms.algorithm === 'fixed_window' ? undefined : terms.algorithm,
    class: className(decisions.terms[row], texts),
    penalized: (decisions.flags[row] & PENALIZED) !== 0 || undefined,
    remaining: decisions.remaining[row],
  };
}

function className(terms: CountingTerms | null, texts: LogTexts): string | undefined {
  const name = terms?.classes?.name(terms.classNumber);
  return name == null ? undefined : shortText(name, texts);
}

function sourceOf({ decisions, counters }: DecisionBatch, row: number): string {
  if (decisions.kind[row] === KIND.banned) return 'ban';
  const op = decisions.op[row];
  if (op < 0) return 'local_cache';
  return Number.isNaN(counters.opAfters[op]) ? 'failure_mode' : 'store';
}

/** DEL, the C1 controls and the line separators, which JSON allows, and which control terminals or end lines. */
const UNESCAPED = /[\u007f-\u009f\u2028\u2029]/g;

/** The object as one line that contains printable characters only. */
function jsonLine(record: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(record);
  return `${text.replace(UNESCAPED, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}
