import { UNIT_NAMES } from '../../messages/current-limit.ts';
import { isWrittenPlain } from '../calendar-month.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import { describeAnswers } from '../domain-answers.ts';
import { LIMIT, LIMIT_FLAG } from '../layout.ts';
import type { LeaseRule } from '../rule-set.ts';
import { lengthText, type RuleTerms } from '../rule-terms.ts';
import { shareText } from '../shares.ts';
import { requestsInWords } from './request-words.ts';

/**
 * The rules as `/rlconfig` prints them: one line for each domain with `answers`, a few for each with `requests`, and one for
 * each limit, in definition order. Paths are as configured, with wildcards. The lines of plain limits are those of envoyproxy/ratelimit, unless an
 * overlay has changed them or they have a `quota`; unlimited rules print the unit UNKNOWN and their configured number. A generator, because
 * creating all lines at once could block the thread for too long.
 */
export function* dumpRules(rules: CompiledRules): Iterable<string> {
  for (const [domain, word] of rules.allAnswers()) yield `${domain}: answers: {${describeAnswers(word)}}\n`;
  for (const [domain, mapping] of rules.allRequests())
    for (const line of requestsInWords(JSON.parse(mapping))) yield `${domain}: requests: ${line}\n`;
  for (let limit = 0; limit < rules.limitCount; limit++) {
    const flags = rules.flags(limit);
    const terms = rules.limit(limit, LIMIT.terms);
    const isPlain = terms === 0 || isWrittenPlain(rules.terms(terms - 1));
    const [window, counting] = isPlain
      ? [`unit=${UNIT_NAMES[rules.limit(limit, LIMIT.unit)]}`, '']
      : dumpTerms(rules.terms(terms - 1));
    const quota = rules.quotaOf(limit);
    const granted =
      quota === null ? '' : `, quota: {share: ${shareText(quota.share)}, for: ${lengthText(quota.forS)}}`;
    const modes = `shadow_mode: ${(flags & LIMIT_FLAG.shadow) !== 0}, quota_mode: ${(flags & LIMIT_FLAG.quota) !== 0}`;
    const overlay = rules.overlaidBy(limit);
    const changed = overlay === null ? '' : `, overlay: ${overlay.file}:${overlay.line}`;
    yield `${rules.path(limit)}: ${window} requests_per_unit=${rules.requestsPerUnit(limit)}, ${modes}${counting}${granted}${changed}\n`;
  }
}

/** What a line says instead of the unit, and at its end. */
function dumpTerms(terms: RuleTerms): [string, string] {
  const { window, algorithm, burst, calendar, penalty, scale, lease } = terms;
  if (lease?.mode === 'concurrency') return ['unit=UNKNOWN', dumpLease(lease)];
  const bucket = algorithm === 'token_bucket' ? `, burst: ${burst}` : '';
  const zone = calendar === null ? '' : `, zone: ${calendar.zone}`;
  const [length] = window.split(' ');
  const name = calendar === null ? 'window' : 'calendar';
  const scaled = scale === 1 ? '' : `, scale: ${scale}`;
  const rest = `${scaled}${dumpPenalty(penalty)}${dumpClasses(terms)}${lease === null ? '' : dumpLease(lease)}`;
  return [`${name}=${length}`, `, algorithm: ${algorithm}${bucket}${zone}${rest}`];
}

/** What the entry and the limit say about leases. A limit in the mode `once` says nothing about them itself. */
function dumpLease({ mode, forS, holder, estimate, zeroHits, overdraft }: LeaseRule): string {
  const named = holder === '' ? '' : `, holder: ${holder}`;
  if (mode !== 'reserve')
    return mode === 'once' ? named : `${named}, concurrency: {for: ${lengthText(forS)}}`;
  const held = estimate === 0 ? '' : `, estimate: ${estimate}`;
  const fields = `for: ${lengthText(forS)}, overdraft: ${overdraft}, zero_hits: ${zeroHits}${held}`;
  return `${named}, reserve: {${fields}}`;
}

function dumpPenalty(penalty: RuleTerms['penalty']): string {
  if (penalty === null) return '';
  const { after, forS, factor, maxS } = penalty;
  return `, penalty: {after: ${after}, for: ${lengthText(forS)}, factor: ${factor}, max: ${lengthText(maxS)}}`;
}

function dumpClasses({ classes, afterLimit }: RuleTerms): string {
  const passes = afterLimit === 0 ? '' : `, after_limit: {admit: ${shareText(afterLimit)}}`;
  if (classes === null) return passes;
  const each = classes.names.map((name, i) => `${name}: ${shareText(classes.shares[i])}`);
  return `, classes: {key: ${classes.key}, ${each.join(', ')}, default: ${shareText(classes.otherShare)}}${passes}`;
}
