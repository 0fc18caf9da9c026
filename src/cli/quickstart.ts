import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Addresses } from '../app/ports.ts';

/** Variables that `--quickstart` sets where the environment does not: the sample rules, reloaded when edited. */
export function quickstartEnvironment(): Record<string, string> {
  return {
    RUNTIME_ROOT: join(packageFolder(), 'ops', 'quickstart'),
    RUNTIME_APPDIRECTORY: 'config',
    RUNTIME_WATCH_ROOT: 'false',
  };
}

function packageFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** Three commands to try against the sample rules. */
export function commandsToTry(addresses: Addresses): string {
  const http = reachable(addresses.http);
  const lines = [
    'Try:',
    `  curl -i -d '{"domain":"demo","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}' http://${http}/json`,
    `  npx sluice client -dial_string ${reachable(addresses.grpc)} -domain demo -descriptors user=ann`,
  ];
  if (addresses.debug !== null) lines.push(`  curl http://${reachable(addresses.debug)}/rlconfig`);
  return `${lines.join('\n')}\n`;
}

/** An address to connect to, for one to listen on. */
function reachable(address: string): string {
  return address.replace(/^(0\.0\.0\.0|\[::\]|)(?=:\d)/, 'localhost');
}
