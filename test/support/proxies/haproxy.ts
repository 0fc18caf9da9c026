import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { dialled } from '../asking.ts';
import { Child } from '../child-process.ts';
import { type Teardown, tempDirectory } from '../temp-directory.ts';
import { toolPath } from '../tools.ts';
import {
  type Fronts,
  type Instance,
  PATIENCE_MS,
  type Substitutions,
  startOnFreePorts,
  substituted,
} from './front.ts';

/** The ports of ops/haproxy/haproxy.cfg. */
const LISTENERS = ['bind :80\n', 'bind 127.0.0.1:8090\n', 'bind 127.0.0.1:8091 '];

/** Few open files, and checks that are frequent and wait for a busy machine. */
const FOR_TESTS: Substitutions = [
  ['maxconn 20000', 'maxconn 200'],
  ['check inter 2s', 'check inter 50ms'],
  ['timeout queue 1s', 'timeout queue 10s\n    timeout check 10s'],
];

export interface HaproxyFronts extends Fronts {
  /** Resolves once HAProxy writes a line, from now on, with this text in it. */
  says(text: string): Promise<true>;
}

/** Starts ops/haproxy/haproxy.cfg in front of these instances; it ends with its test. */
export async function startHaproxy(
  t: Teardown,
  instances: readonly Instance[],
  substitutions: Substitutions = [],
): Promise<HaproxyFronts> {
  const folder = tempDirectory(t);
  const path = join(folder, 'haproxy.cfg');
  const { proxy, addresses } = await startOnFreePorts(LISTENERS.length, chosen => {
    const listening = LISTENERS.map(
      (listener, index) => [listener, `bind ${chosen[index]}${listener.at(-1)}`] as const,
    );
    const text = substituted('haproxy/haproxy.cfg', [
      ...listening,
      ...serversOf(instances),
      ...FOR_TESTS,
      ['tasks.example.com', 'localhost'],
      ...substitutions,
    ]);
    writeFileSync(path, text);
    // `-db`: one process in the foreground.
    const haproxy = new Child({ command: toolPath('haproxy'), args: ['-db', '-f', path] });
    return { proxy: haproxy, listens: listens(haproxy, chosen) };
  });
  t.teardown(() => proxy.end('SIGTERM', PATIENCE_MS));
  const [tasks, decisions, grpc] = addresses;
  const says = (text: string) =>
    proxy.line(line => (line.includes(text) ? (true as const) : undefined), PATIENCE_MS);
  return { says, tasks, decisions, grpc };
}

/** One `server` line for each instance. */
function serversOf(instances: readonly Instance[]): Substitutions {
  const lines = (addresses: readonly string[], rest: string) =>
    addresses
      .map(
        (address, index) =>
          `server sluice-${index + 1} ${address}${rest.replace('8080', portOf(instances[index].http))}`,
      )
      .join('\n    ');
  const http = instances.map(instance => instance.http);
  const grpc = instances.map(instance => instance.grpc);
  const options = ' proto h2 check-proto h1 port 8080';
  return [
    ['server sluice-1 127.0.0.1:8080', lines(http, '')],
    [`server sluice-1 127.0.0.1:8081${options}`, lines(grpc, options)],
  ];
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

/** HAProxy writes nothing when it is ready, and opens its ports one by one: resolves once each takes connections. */
async function listens(proxy: Child, addresses: readonly string[]): Promise<void> {
  let ended = false;
  proxy.ended.finally(() => {
    ended = true;
  });
  for (const address of addresses) {
    while (!(await isListening(address))) {
      if (ended) throw new Error(`HAProxy has ended. It wrote:\n${proxy.output}`);
    }
  }
}

async function isListening(address: string): Promise<boolean> {
  const socket = connect(dialled(address) as { host: string; port: number });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
