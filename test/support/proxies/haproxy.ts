import { Child } from '../child-process.ts';
import { type Teardown, tempDirectory } from '../temp-directory.ts';
import { toolPath } from '../tools.ts';
import {
  type Fronts,
  type Instance,
  listening,
  PATIENCE_MS,
  type Substitutions,
  startOnFreePorts,
  writeSubstituted,
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
  const { proxy, addresses } = await runHaproxy(t, LISTENERS.length, (folder, chosen) => {
    const listeners = LISTENERS.map(
      (listener, index) => [listener, `bind ${chosen[index]}${listener.at(-1)}`] as const,
    );
    const [path] = writeSubstituted(folder, [
      [
        'haproxy/haproxy.cfg',
        [
          ...listeners,
          ...serversOf(instances),
          ...FOR_TESTS,
          ['tasks.example.com', 'localhost'],
          ...substitutions,
        ],
      ],
    ]);
    return path;
  });
  const [tasks, decisions, grpc] = addresses;
  const says = (text: string) =>
    proxy.line(line => (line.includes(text) ? (true as const) : undefined), PATIENCE_MS);
  return { says, tasks, decisions, grpc };
}

/**
 * Starts a real HAProxy, which ends with its test.
 *
 * @param ports how many it listens on
 * @param write writes its files for these addresses, and returns the path of the configuration
 */
export async function runHaproxy(
  t: Teardown,
  ports: number,
  write: (folder: string, addresses: readonly string[]) => string,
): Promise<{ readonly proxy: Child; readonly addresses: readonly string[] }> {
  const folder = tempDirectory(t);
  const started = await startOnFreePorts(ports, chosen => {
    // `-db`: one process in the foreground.
    const args = ['-db', '-f', write(folder, chosen)];
    const haproxy = new Child({ command: toolPath('haproxy'), args });
    return { proxy: haproxy, listens: listening(haproxy, chosen) };
  });
  t.teardown(() => started.proxy.end('SIGTERM', PATIENCE_MS));
  return started;
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
