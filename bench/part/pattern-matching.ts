// How long matching a value with a pattern takes, against `RegExp` on the same text, and how long compiling takes. Values
// of requests are bytes, so `RegExp` would need a text made of them first.
// Run: node build/bench/part/pattern-matching.js
import { WordList } from '../../src/base/collections/word-list.ts';
import { automatonMatches } from '../../src/rules/patterns/automaton-matches.ts';
import { compilePattern } from '../../src/rules/patterns/compile-pattern.ts';
import { writeAutomaton } from '../../src/rules/patterns/write-automaton.ts';

const ROUNDS = 9;
const BYTES_A_ROUND = 4_000_000;
const COMPILATIONS_A_ROUND = 100;

const CASES = [
  ['^/api/v[0-9]+/', '/api/v12/orders/8213/items'],
  ['^/api/v[0-9]+/', '/static/pictures/logo.png'],
  ['^/tenants/[a-z0-9-]+/(orders|items)/[0-9]+$', '/tenants/acme-berlin-7/orders/82131'],
  ['\\.(png|jpe?g|gif)$', '/static/pictures/2026/summer/logo.jpeg'],
  ['\\bbot\\b', 'Mozilla/5.0 (compatible; example bot; +https://example.com/about)'],
  ['^[^/]*$', 'a-user-with-a-rather-long-name@some-company.example'],
  ['^[a-zà-ÿ ]+$', 'élève à côté du château où naît la forêt'],
] as const;

/** Kept, so that no work can be optimized away. */
let matched = 0;

/** The median of a few rounds of `work`, in nanoseconds. */
function nanoseconds(work: () => void): number {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = process.hrtime.bigint();
    work();
    times.push(Number(process.hrtime.bigint() - began));
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1];
}

console.log(
  `${''.padEnd(44)}  bytes   states  words   ns/match   ns/byte   RegExp   from bytes   compile µs`,
);
for (const [pattern, text] of CASES) {
  const automaton = compilePattern(pattern);
  const list = new WordList();
  const at = writeAutomaton(automaton, list);
  const words = new Int32Array(new SharedArrayBuffer(list.length * 4));
  words.set(list.view());
  const bytes = Buffer.from(text);
  const count = Math.ceil(BYTES_A_ROUND / bytes.length);
  const ours = nanoseconds(() => {
    for (let i = 0; i < count; i++) if (automatonMatches(words, at, bytes, 0, bytes.length)) matched++;
  });
  const regExp = new RegExp(pattern, 'u');
  const theirs = nanoseconds(() => {
    for (let i = 0; i < count; i++) if (regExp.test(text)) matched++;
  });
  const fromBytes = nanoseconds(() => {
    for (let i = 0; i < count; i++) if (regExp.test(bytes.toString())) matched++;
  });
  const compiling = nanoseconds(() => {
    for (let i = 0; i < COMPILATIONS_A_ROUND; i++) matched += compilePattern(pattern).width;
  });
  console.log(
    [
      pattern.padEnd(44),
      String(bytes.length).padStart(6),
      String(automaton.atEnd.length).padStart(8),
      String(list.length).padStart(6),
      (ours / count).toFixed(1).padStart(10),
      (ours / count / bytes.length).toFixed(2).padStart(9),
      (theirs / count).toFixed(1).padStart(8),
      (fromBytes / count).toFixed(1).padStart(12),
      (compiling / COMPILATIONS_A_ROUND / 1_000).toFixed(0).padStart(12),
    ].join(' '),
  );
}
if (matched === 0) throw new Error('nothing was measured');
