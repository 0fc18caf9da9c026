import t from 'tap';
import type { Census, ServerReport } from '../../../bench/soak/grpc/server-report.ts';
import { type Calms, verdict } from '../../../bench/soak/grpc/verdict.ts';

const NO_COUNTERS = { connectionCount: 0, streamCount: 0, deadlineCount: 0, heldBytes: 0, queuedBytes: 0 };

/** A server that listens, without clients. */
const CALM: ServerReport = {
  counters: NO_COUNTERS,
  timers: 1,
  sockets: 1,
  pendingInMethods: 0,
  loggedFaults: 0,
  heapBytes: 6e6,
  bufferBytes: 1e5,
  rssBytes: 100e6,
};

/** `Call` has prototypes in the heap from the start. */
const CENSUS: Census = { GrpcSocket: 0, Call: 2 };

interface Changes {
  readonly end?: Partial<ServerReport>;
  readonly endCensus?: Census;
  readonly stopped?: Partial<ServerReport>;
}

function calms({ end = {}, endCensus = CENSUS, stopped = {} }: Changes = {}): Calms {
  return {
    started: { report: CALM, census: CENSUS },
    warm: { report: CALM },
    end: { report: { ...CALM, ...end }, census: endCensus },
    stopped: { report: { ...CALM, timers: 0, sockets: 0, ...stopped }, census: CENSUS },
  };
}

t.test('a server that is as it was has no faults', async t => {
  t.same(verdict(calms()), []);
});

t.test('each counter that is not back to zero is a fault', async t => {
  for (const counter of ['connectionCount', 'streamCount', 'deadlineCount', 'heldBytes', 'queuedBytes']) {
    const counters = { ...NO_COUNTERS, [counter]: 3 };
    t.same(verdict(calms({ end: { counters } })), [`without clients ${counter} is 3 and not 0`]);
  }
});

t.test('timers, sockets and calls that are left are faults', async t => {
  t.same(verdict(calms({ end: { timers: 2 } })), ['without clients timers is 2 and not 1']);
  t.same(verdict(calms({ end: { sockets: 4 } })), ['without clients sockets is 4 and not 1']);
  t.same(verdict(calms({ end: { pendingInMethods: 1 } })), [
    'without clients pendingInMethods is 1 and not 0',
  ]);
});

t.test('a server that was stopped may not even listen', async t => {
  t.same(verdict(calms({ stopped: { timers: 1, sockets: 1 } })), [
    'after the stop timers is 1 and not 0',
    'after the stop sockets is 1 and not 0',
  ]);
});

t.test('objects beyond those of the start are faults, also where no counter knows them', async t => {
  t.same(verdict(calms({ endCensus: { GrpcSocket: 0, Call: 5 } })), [
    'without clients 3 Call are still in the heap',
  ]);
});

t.test('memory may grow by what compilers and allocators keep, and no further', async t => {
  t.same(verdict(calms({ end: { heapBytes: 7.2e6, bufferBytes: 1.05e6, rssBytes: 144e6 } })), []);
  t.same(verdict(calms({ end: { heapBytes: 7.4e6 } })), ['heapBytes has grown from 6.0 to 7.4 MB']);
  t.same(verdict(calms({ end: { bufferBytes: 1.2e6 } })), ['bufferBytes has grown from 0.1 to 1.2 MB']);
  t.same(verdict(calms({ end: { rssBytes: 146e6 } })), ['rssBytes has grown from 100.0 to 146.0 MB']);
});

t.test('lines that the server has logged are a fault', async t => {
  t.same(verdict(calms({ stopped: { loggedFaults: 2 } })), ['the server has logged 2 errors and warnings']);
});
