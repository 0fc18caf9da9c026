import { queryObjects } from 'node:v8';
import type { LogFields, Logger } from '../../../src/base/logger.ts';
import { Call } from '../../../src/grpc/calls.ts';
import { MessageReader } from '../../../src/grpc/message-reader.ts';
import { Http2Connection } from '../../../src/http2/connection/http2-connection.ts';
import { Http2Stream } from '../../../src/http2/streams/stream.ts';
import { GrpcSocket } from '../../../src/transports/grpc/grpc-socket.ts';
import { OwnGrpcServer } from '../../../src/transports/grpc/own-server.ts';
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_MAX_METADATA_BYTES,
} from '../../../src/transports/grpc/server.ts';
import { answerBench } from '../../support/control-channel.ts';
import { CountingClock } from './counting-clock.ts';
import { SoakMethods } from './methods.ts';
import type { Counters, ServerReport, SoakServerAnswers, SoakServerReady } from './server-report.ts';

/** Classes of which nothing may be left once all clients are gone. */
const COUNTED_CLASSES = [GrpcSocket, Http2Connection, Http2Stream, Call, MessageReader];

const FAULT_LINES_KEPT = 10;

const methods = new SoakMethods();
const clock = new CountingClock();
let loggedFaults = 0;
const faultLines: string[] = [];

function noteFault(message: string, fields: LogFields = {}): void {
  loggedFaults++;
  if (faultLines.length < FAULT_LINES_KEPT) faultLines.push(`${message} ${JSON.stringify(fields)}`);
}

const logger: Logger = {
  error: noteFault,
  warning: noteFault,
  info: () => {},
  debug: () => {},
  trace: () => {},
  enabled: level => level === 'error' || level === 'warning',
};

const server = new OwnGrpcServer({
  listen: { host: '127.0.0.1', port: 0 },
  service: methods.service,
  maxMessageBytes: DEFAULT_MAX_MESSAGE_BYTES,
  maxMetadataBytes: DEFAULT_MAX_METADATA_BYTES,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
  drainTimeoutMs: 1_000,
  logger,
  clock,
});

function counters(): Counters {
  const { connectionCount, streamCount, deadlineCount, heldBytes, queuedBytes } = server;
  return { connectionCount, streamCount, deadlineCount, heldBytes, queuedBytes };
}

function report(): ServerReport {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return {
    counters: counters(),
    timers: clock.pendingTimers,
    sockets: process.getActiveResourcesInfo().filter(name => name.startsWith('TCP')).length,
    pendingInMethods: methods.pending,
    loggedFaults,
    heapBytes: heapUsed,
    bufferBytes: arrayBuffers,
    rssBytes: rss,
  };
}

await server.start();
if (!('port' in server.address)) throw new Error('the server does not listen on a port');
const ready: SoakServerReady = { port: server.address.port };
const answers: SoakServerAnswers = {
  report,
  census: () =>
    Object.fromEntries(
      COUNTED_CLASSES.map(counted => [counted.name, queryObjects(counted, { format: 'count' })]),
    ),
  stop: () => server.stop(),
  faultLines: () => faultLines,
};
answerBench(ready, answers);
