import type { Test } from 'tap';
import type { HttpEngine } from '../../../src/transports/http/listener.ts';
import { answerCases } from './answer-cases.ts';
import { examineBounds } from './bounds.ts';
import type { HttpCase } from './case.ts';
import { chunkedCases } from './chunked-cases.ts';
import { connectionCases } from './connection-cases.ts';
import { type CountRequest, examListener } from './exam-listener.ts';
import { HttpExaminee, type Observed, type ServeExam } from './examinee.ts';
import { fieldCases } from './field-cases.ts';
import { fragmentCases } from './fragment-cases.ts';
import { lengthCases } from './length-cases.ts';
import { requestLineCases } from './request-line-cases.ts';
import { sizeCases } from './size-cases.ts';

const PARTS: Readonly<Record<string, readonly HttpCase[]>> = {
  'request lines': requestLineCases,
  fields: fieldCases,
  'lengths and codings': lengthCases,
  chunks: chunkedCases,
  connections: connectionCases,
  sizes: sizeCases,
  answers: answerCases,
  'reads that end anywhere': fragmentCases,
};

/** Known deviation of an engine from the RFC. */
export interface Departure {
  /** The limit of the engine that it comes from, in the words of `docs/http.md`. */
  readonly limit: string;
  /** The outcome of these cases instead. */
  readonly outcome: string;
  /** Names of cases. */
  readonly cases: readonly string[];
}

/**
 * Asks an HTTP engine what RFC 9112 and RFC 9110 say, byte for byte. A case that an engine is known to fail must fail
 * in the known way: one that passes does not belong in the list any more.
 */
export function httpServerExam(t: Test, engine: HttpEngine, departures: readonly Departure[]): void {
  examineCases(t, (t, count) => serveHere(t, engine, count), departures);
  t.test('bounds', async t => examineBounds(t, engine));
}

/**
 * The same for a port that several threads listen on, without the exam of the bounds: it moves the clock of the listener
 * and looks at the turns of its event loop, which are those of another thread here. The bounds of all threads together
 * are tested in `test/unit/transports/http/shared-connections.test.ts`.
 */
export function sharedHttpPortExam(t: Test, serve: ServeExam, departures: readonly Departure[]): void {
  examineCases(t, serve, departures);
}

async function serveHere(t: Test, engine: HttpEngine, count: CountRequest): Promise<number> {
  const server = examListener({ engine, count, port: 0 });
  await server.start();
  t.teardown(() => server.stop());
  return server.port;
}

function examineCases(t: Test, serve: ServeExam, departures: readonly Departure[]): void {
  const known = new Map(departures.flatMap(({ cases, outcome }) => cases.map(name => [name, outcome])));
  const unused = new Set(known.keys());
  for (const [part, cases] of Object.entries(PARTS)) {
    t.test(part, async t => {
      const examinee = await HttpExaminee.start(t, serve);
      const seen = await Promise.all(cases.map(each => examinee.observe(each, known.get(each.name))));
      cases.forEach((each, index) => {
        unused.delete(each.name);
        const wanted = known.get(each.name) ?? 'as allowed';
        t.equal(found(each, seen[index]), wanted, `${each.name} (RFC ${each.rfc})`);
      });
      t.strictSame(examinee.invented, [], 'the decider gets nothing that no caller has sent');
    });
  }
  t.test('the list of known departures', async t => {
    t.strictSame([...unused], [], 'each is one of a case');
  });
}

/** `as allowed`, or what came of the case. */
function found({ allows }: HttpCase, seen: readonly Observed[]): string {
  const departures = seen.filter(({ outcome, wrong }) => wrong !== null || !allows.includes(outcome));
  if (departures.length === 0) return 'as allowed';
  return departures
    .map(({ outcome, wrong }) => (wrong === null ? outcome : `${outcome}: ${wrong}`))
    .join(', or ');
}
