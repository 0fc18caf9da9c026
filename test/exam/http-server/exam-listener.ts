import { systemClock } from '../../../src/base/clock.ts';
import type { Bound } from '../../../src/base/threads/shared-bound.ts';
import type { Decider } from '../../../src/decision/decider.ts';
import { TEXT_PAGE, textAnswer } from '../../../src/transports/http/answer.ts';
import { type HttpEngine, HttpListener } from '../../../src/transports/http/listener.ts';
import { jsonRoute } from '../../../src/transports/http/routes/decision-routes.ts';
import { jsonNotFound, type Route } from '../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { mapperOf } from '../../support/request-mapper.ts';

/** Requests with this text are answered some turns of the event loop later. */
export const LATE = 'late-';

/** Notes the bytes of a request that the decider gets, as text, and returns how often it has got them. */
export type CountRequest = (key: string) => number;

interface ExamPort {
  readonly engine: HttpEngine;
  readonly count: CountRequest;
  readonly port: number;
  /** The connections of all listeners on the port; not given if there is only one. */
  readonly connections?: Bound;
}

/** A listener with the routes of the exam. A decision is how often the same one has been asked for. */
export function examListener({ engine, count, port, connections }: ExamPort): HttpListener {
  const log = new KeepingLogger();
  const routes = [jsonRoute({ decider: countingDecider(count), mapper: mapperOf(), log }), ...ROUTES];
  return new HttpListener({
    name: 'http',
    engine,
    host: '127.0.0.1',
    port,
    ...(connections !== undefined && { shared: true, connections }),
    settings: { host: 'HOST', port: 'PORT', sharing: 'by SHARE_PORTS' },
    routes,
    unknown: jsonNotFound(routes),
    drainMs: 0,
    clock: systemClock,
    log,
  });
}

function countingDecider(count: CountRequest): Decider {
  return {
    decide(request, _format, reply) {
      const key = Buffer.from(request).toString('latin1');
      const times = count(key);
      const answer = (): void => reply.answered(Buffer.from(String(times)), false);
      if (!key.includes(LATE)) answer();
      else setImmediate(() => setImmediate(() => setImmediate(answer)));
    },
  };
}

const ROUTES: readonly Route[] = [
  {
    path: '/probe',
    method: 'GET',
    help: 'shows that the connection is in step',
    handle: exchange => exchange.answer(textAnswer('probe')),
  },
  {
    path: '/field',
    method: 'GET',
    help: 'shows the field X-Key as it was read',
    handle: (exchange, request) => exchange.answer(textAnswer(JSON.stringify(request.header('x-key')))),
  },
  {
    path: '/none',
    method: 'GET',
    help: 'has no content',
    handle: exchange => exchange.answer({ status: '204 No Content', contentType: '', body: '' }),
  },
  {
    path: '/unchanged',
    method: 'GET',
    help: 'has not been modified',
    handle: exchange =>
      exchange.answer({ status: '304 Not Modified', contentType: '', headers: { ETag: '"1"' }, body: '' }),
  },
  {
    path: '/long',
    method: 'GET',
    help: 'is made while it is read',
    handle: exchange => {
      const pieces = Array.from({ length: 1_000 }, () => 'x'.repeat(100));
      exchange.stream(TEXT_PAGE, pieces).catch(thrown => exchange.fail(thrown));
    },
  },
];
