import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../../../test/support/child-process.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { BadArguments } from '../../support/options.ts';

/** Another rate limit service to measure, as `--peer NAME=COMMAND` gives it. */
export interface Peer {
  /** For tables. */
  readonly name: string;
  /** For a shell; the service must stay in the foreground. */
  readonly command: string;
}

/** How long the peer may take until its gRPC port accepts connections. */
const START_MS = 30_000;
const STOP_MS = 10_000;
const RETRY_MS = 50;

/** @throws BadArguments unless the text is `NAME=COMMAND` */
export function readPeer(text: string): Peer {
  const equals = text.indexOf('=');
  const [name, command] = [text.slice(0, equals).trim(), text.slice(equals + 1).trim()];
  if (equals < 0 || name === '' || command === '')
    throw new BadArguments(`--peer ${text} is not NAME=COMMAND, such as --peer reference=./ratelimit`);
  return { name, command };
}

/** What the peer has to serve. */
interface PeerSetup {
  /** Root of the rule files; they are in its folder `config`. */
  readonly rulesFolder: string;
  /** `host:port` of the Redis that it counts in; database 0 is its own. */
  readonly redis: string;
}

export interface RunningPeer {
  readonly pid: number;
  readonly grpcPort: number;
  stop(): Promise<void>;
}

/**
 * Starts a peer with the settings of envoyproxy/ratelimit in its environment, on free ports.
 *
 * @throws Error with its output when it does not accept connections in time
 */
export async function startPeer(peer: Peer, { rulesFolder, redis }: PeerSetup): Promise<RunningPeer> {
  const [grpcPort, port, debugPort] = [await freePort(), await freePort(), await freePort()];
  // The shell is replaced, so that the CPU time of its process is that of the peer.
  const child = new Child({
    command: '/bin/sh',
    args: ['-c', `exec ${peer.command}`],
    env: {
      ...process.env,
      HOST: '127.0.0.1',
      PORT: String(port),
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: String(grpcPort),
      DEBUG_HOST: '127.0.0.1',
      DEBUG_PORT: String(debugPort),
      RUNTIME_ROOT: rulesFolder,
      RUNTIME_SUBDIRECTORY: '',
      RUNTIME_WATCH_ROOT: 'false',
      BACKEND_TYPE: 'redis',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: redis,
      USE_STATSD: 'false',
      LOG_LEVEL: 'warn',
    },
  });
  const stop = async (): Promise<void> => {
    await child.end('SIGTERM', STOP_MS);
  };
  const start = new AbortController();
  child.ended.then(() => start.abort(new Error(`the peer ${peer.name} ended; it wrote:\n${child.output}`)));
  try {
    await accepting(grpcPort, start.signal);
  } catch (failure) {
    await stop();
    throw failure;
  }
  return { pid: child.pid, grpcPort, stop };
}

/** @throws Error when nothing listens in time, or the reason of the signal */
async function accepting(port: number, signal: AbortSignal): Promise<void> {
  const until = performance.now() + START_MS;
  while (!(await accepts(port))) {
    signal.throwIfAborted();
    if (performance.now() > until)
      throw new Error(`the peer does not listen on GRPC_PORT=${port} after ${START_MS / 1_000} s`);
    await sleep(RETRY_MS);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
