import type { SettingWarning } from './faults.ts';
import { SETTINGS } from './table.ts';

/** Variables that Kubernetes makes for each service of the namespace: a service `redis` gives `REDIS_PORT_6379_TCP`. */
const LINK = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$/;

/** And `REDIS_PORT`, which holds this. */
const LINKED_PORT = /^(tcp|udp|sctp):\/\//;

/** True for a variable that Kubernetes made for a service. Nobody wrote it, so it is neither a setting nor a slip. */
export function isServiceLink(name: string, text: string): boolean {
  return LINK.test(name) || (name.endsWith('_PORT') && LINKED_PORT.test(text));
}

/** Settings that Kubernetes gives as well, for services named `statsd`, `grpc` or `debug`. */
const PORTS: ReadonlySet<string> = new Set(
  [SETTINGS.grpcPort, SETTINGS.debugPort, SETTINGS.statsdPort].flatMap(({ names }) => names),
);

/** True for the variable of a service that has the name of a setting. It is left out. */
export function isLinkedPort(name: string, text: string): boolean {
  return PORTS.has(name) && LINKED_PORT.test(text);
}

/** A warning for each of them. */
export function linkedPorts(env: Readonly<Record<string, string | undefined>>): SettingWarning[] {
  return [...PORTS]
    .filter(name => isLinkedPort(name, env[name] ?? ''))
    .map(name => ({
      message: 'An environment variable is ignored: Kubernetes made it for a service of this name',
      fields: { name, advice: 'set enableServiceLinks to false in the pod, or give the setting itself' },
    }));
}
