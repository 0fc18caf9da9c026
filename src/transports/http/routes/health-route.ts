import type { Health } from '../../../base/health.ts';
import { type Answer, textAnswer } from '../answer.ts';
import type { Route } from '../routes.ts';

const HEALTHY_STATUS = '200 OK';
const UNHEALTHY_STATUS = '500 Internal Server Error';
const HEALTHY = textAnswer('OK', HEALTHY_STATUS);
const UNHEALTHY: Answer = { status: UNHEALTHY_STATUS, contentType: '', body: '' };

/** The query that asks for the components: `verbose`, with or without a value. */
const VERBOSE = /^verbose(=|$)/;

/**
 * `/healthcheck`: 200 with the body `OK`, or 500 with none, whatever the method (spec 4.1, 3.4). With `?verbose` the
 * body tells of each component whether it works and whether it decides, and what is worth knowing about some:
 *
 *     {"healthy": true, "components": {"termination": true, "store": false},
 *      "decides": {"termination": true, "store": false}, "notes": {"store": "Redis at ... is not connected: ..."}}
 */
export function healthRoute(health: Health): Route {
  return {
    path: '/healthcheck',
    method: 'any',
    help: '200 while the service is healthy; ?verbose lists its components',
    handle: (exchange, request) => {
      const isVerbose = VERBOSE.test(request.query);
      exchange.answer(isVerbose ? componentsOf(health) : health.healthy ? HEALTHY : UNHEALTHY);
    },
  };
}

function componentsOf({ healthy, components }: Health): Answer {
  const all = [...components];
  const notes = all.flatMap(([name, { note }]) => (note === null ? [] : [[name, note] as const]));
  return {
    status: healthy ? HEALTHY_STATUS : UNHEALTHY_STATUS,
    contentType: 'application/json',
    body: JSON.stringify({
      healthy,
      components: Object.fromEntries(all.map(([name, { ok }]) => [name, ok])),
      decides: Object.fromEntries(all.map(([name, { decides }]) => [name, decides])),
      ...(notes.length > 0 && { notes: Object.fromEntries(notes) }),
    }),
  };
}
