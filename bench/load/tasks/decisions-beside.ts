import { setTimeout as wait } from 'node:timers/promises';
import { ForkedChild } from '../../support/forked-child.ts';
import type { GeneratorAnswers } from '../../support/generator.ts';
import type { GrpcLoad } from '../../support/grpc-load/load.ts';
import { median } from '../../support/statistics.ts';
import { PATTERNS, templateOf } from '../decisions/patterns.ts';
import { paced } from './closed-loop.ts';
import { atMost, type Part, shown } from './measurement.ts';
import { pushWorker } from './pushed-tasks.ts';
import { payloadOf } from './task-service.ts';

const CALLS_PER_SECOND = 10_000;
const TASKS_PER_SECOND = 300;
const WINDOW_MS = 3_000;

/**
 * Latency of decisions over gRPC at a steady rate: alone, beside as many calls that read a number,
 * and beside tasks that are made and pushed. What the second adds is the load of whoever calls, on the same cores.
 */
export const decisionsBeside: Part = async ({ service, sink, size }) => {
  const tenant = await service.tenant(32);
  await pushWorker(tenant, sink.url);
  const generator = new ForkedChild<GeneratorAnswers<GrpcLoad>>({
    entry: new URL('../../support/grpc-load/generator.js', import.meta.url),
  });
  try {
    await generator.ready();
    await generator.ask('start', {
      port: service.grpcPort,
      connections: 8,
      streamsPerConnection: 32,
      watched: {},
      template: templateOf(PATTERNS.keys),
      expectedCode: PATTERNS.keys.code,
      callsPerSecond: CALLS_PER_SECOND,
    });
    await wait(size.warmUpMs);
    const body = `{"worker":"sink","payload":${payloadOf(512)}}`;
    const alone: number[] = [];
    const calls: number[] = [];
    const beside: number[] = [];
    // In turn, so that what the machine does besides is in both.
    for (let round = 0; round < (size.measuredMs > 4_000 ? 5 : 2); round++) {
      await generator.ask('mark');
      await wait(WINDOW_MS);
      alone.push((await generator.ask('mark')).latency.p99Ms);
      for (const [p99s, ask] of [
        [calls, () => tenant.call('GET', '/tasks/counts')],
        [beside, () => tenant.call('POST', '/tasks', body)],
      ] as const) {
        const load = paced(TASKS_PER_SECOND, WINDOW_MS + 500, ask);
        await wait(400);
        await generator.ask('mark');
        await wait(WINDOW_MS);
        p99s.push((await generator.ask('mark')).latency.p99Ms);
        await load;
      }
    }
    await generator.ask('finish');
    return [
      shown(`${CALLS_PER_SECOND} decisions/s alone, p99`, median(alone), 'ms'),
      shown(`beside ${TASKS_PER_SECOND} calls/s that read a number, p99`, median(calls), 'ms'),
      shown(`beside ${TASKS_PER_SECOND} tasks/s made and pushed, p99`, median(beside), 'ms'),
      atMost('p99 of decisions beside tasks, to alone', median(beside) / median(alone), 'times', 1.5),
      shown('the same, to calls that read a number', median(beside) / median(calls), 'times'),
    ];
  } finally {
    await generator.stop();
  }
};
