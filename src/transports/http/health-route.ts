import type { Health } from '../../base/health.ts';
import { type Answer, textAnswer } from './answer.ts';
import type { Route } from './routes.ts';

const HEALTHY_STATUS = '200 OK';
const UNHEALTHY_STATUS = '500 Internal Server Error';
const HEALTHY = textAnswer('OK', HEALTHY_STATUS);
const UNHEALTHY: Answer = { status: UNHEALTHY_STATUS, contentType: '', body: '' };

/** The query that asks for the components: `verbose`, with or without a value. */
const VERBOSE = /^verbose(=|$)/;

/**
 * `/healthcheck`: 200 with the body `OK`, or 500 with none, whatever the method (spec 4.1, 3.4). With `?verbose` the
 * body is `{"healthy": <bool>, "components": {"<name>": <bool>, ...}}`, for people who want to know why; `notes`
 * says what is worth knowing about a component that is healthy all the same.
 */
export function healthRoute(health: Health): Route {
  return {
    path: '/healthcheck',
    method: 'any',
    help: '200 while the service is healthy; ?verbose lists its components',
    handle: (exchange, request) => {
      const isVerbose = VERBOSE.test(request.getQuery() ?? '');
      exchange.answer(isVerbose ? componentsOf(health) : health.healthy ? HEALTHY : UNHEALTHY);
    },
  };
}

function componentsOf(health: Health): Answer {
  const { healthy } = health;
  return {
    status: healthy ? HEALTHY_STATUS : UNHEALTHY_STATUS,
    contentType: 'application/json',
    body: JSON.stringify({
      healthy,
      components: Object.fromEntries(health.components),
      ...(health.notes.size > 0 && { notes: Object.fromEntries(health.notes) }),
    }),
  };
}
