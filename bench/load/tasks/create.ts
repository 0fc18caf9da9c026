import { closedLoop } from './closed-loop.ts';
import { atLeast, atMost, type Part, shown } from './measurement.ts';
import { payloadOf } from './task-service.ts';

/** Far enough for nothing to start in a run. */
const LATER = '30d';
const BATCH = 100;

/** `POST /v1/tasks`, 64 connections, 512 bytes of payload. */
export const create: Part = async ({ service, size }) => {
  const tenant = await service.tenant(64);
  await tenant.json('POST', '/workers', { name: 'later', mode: 'pull' });
  const body = `{"worker":"later","delay":"${LATER}","payload":${payloadOf(512)}}`;
  const { perSecond, latency } = await closedLoop({ callers: 64, ...size }, () =>
    tenant.call('POST', '/tasks', body),
  );
  return [
    atLeast('one a request, 64 connections', perSecond, 'tasks/s', 5_000),
    atMost('one a request, p99', latency.p99Ms, 'ms', 25),
  ];
};

/** `POST /v1/tasks/batch` of 100. */
export const createBatch: Part = async ({ service, size }) => {
  const tenant = await service.tenant(8);
  await tenant.json('POST', '/workers', { name: 'later', mode: 'pull' });
  const one = `{"worker":"later","delay":"${LATER}","payload":${payloadOf(512)}}`;
  const body = `{"tasks":[${Array.from({ length: BATCH }, () => one).join(',')}]}`;
  const { perSecond, latency } = await closedLoop({ callers: 8, ...size, units: BATCH }, () =>
    tenant.call('POST', '/tasks/batch', body),
  );
  return [
    atLeast(`batches of ${BATCH}`, perSecond, 'tasks/s', 15_000),
    shown(`batches of ${BATCH}, p99`, latency.p99Ms, 'ms'),
  ];
};
