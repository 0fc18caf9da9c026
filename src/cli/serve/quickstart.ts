import { join } from 'node:path';
import type { Addresses } from '../../app/ports/ports.ts';
import { packageFolder } from '../../base/package.ts';
import type { Environment } from '../../settings/load.ts';

/**
 * Variables that `--quickstart` sets where the environment does not: the sample rules, reloaded when edited and with a
 * log line that confirms it, and tasks in a file beside them, for callers and workers on this machine.
 */
export function quickstartEnvironment(given: Environment): Record<string, string> {
  const data = given['TASKS_DATA_DIRECTORY'] ?? join(packageFolder(), 'data');
  const hasKey = given['SECRETS_MASTER_KEY'] !== undefined;
  return {
    RUNTIME_ROOT: join(packageFolder(), 'ops', 'quickstart'),
    RUNTIME_APPDIRECTORY: 'config',
    RUNTIME_WATCH_ROOT: 'false',
    LOG_LEVEL: 'info',
    TASKS_ENABLED: 'true',
    TASKS_DATA_DIRECTORY: data,
    ...(!hasKey && { SECRETS_MASTER_KEY_FILE: join(data, 'master.key') }),
    ACCOUNTS_SIGNUP: 'loopback',
    TASKS_PUSH_HTTP: 'true',
    TASKS_PUSH_NETWORKS: '127.0.0.0/8,::1/128',
  };
}

/** Commands to try against the sample rules, and the first one of the task service. */
export function commandsToTry(addresses: Addresses): string {
  const http = reachable(addresses.http);
  const lines = [
    'Try:',
    `  curl -i -d '{"domain":"demo","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}' http://${http}/json`,
    `  bin/sluice client -dial_string ${reachable(addresses.grpc)} -domain demo -descriptors user=ann`,
  ];
  if (addresses.debug !== null) lines.push(`  curl http://${reachable(addresses.debug)}/rlconfig`);
  // The host name selects the tenant, so the address must be a name and not an IP address.
  const tasks = `http://localhost:${http.split(':').at(-1)}`;
  lines.push(
    'Tasks ("bin/sluice tasks --help" has the rest):',
    `  eval "$(bin/sluice tasks create-account acme --export --service ${tasks})"`,
    `  echo "$SLUICE_TOKEN"   # signs in to the console, in a browser at ${tasks}/`,
  );
  return `${lines.join('\n')}\n`;
}

/** The address to connect to, for an address that a server listens on. */
function reachable(address: string): string {
  return address.replace(/^(0\.0\.0\.0|\[::\]|)(?=:\d)/, 'localhost');
}
