import { nearest, nearestWithin } from '../base/nearest.ts';
import type { SettingWarning } from './faults.ts';
import { SETTINGS, type SettingKey, type SettingValues, settingEntries } from './table.ts';

/** Every name of a setting, in upper case, as it is written. */
const KNOWN: ReadonlyMap<string, string> = new Map(
  settingEntries().flatMap(([, { names }]) => names.map(name => [name.toUpperCase(), name] as const)),
);
const KEYS: ReadonlyMap<string, SettingKey> = new Map(
  settingEntries().flatMap(([key, { names }]) => names.map(name => [name, key] as const)),
);

/** Common in deployments of the reference implementation, which ignores them in every version. */
const TOLERATED: ReadonlySet<string> = new Set(['GRPC_SERVER_TLS_CA_CERT']);

/** Variables that configure mogrifiers. */
const MOGRIFIER = /^(AGENTSTATS|DOG_STATSD)_MOGRIFIER_\w+_(PATTERN|NAME|TAGS)$/;

/** Prefixes that only settings use. */
const OWN_PREFIX =
  /^(KVCACHE|ALTCACHE|PUSHSTATS|PULLSTATS|AGENTSTATS|CONFIG_GRPC_XDS|XDS_CLIENT|REDIS_PERSECOND|MEMORY_STORE|TASKS_REDIS|TASKS_PUSH|LIMIT_RESPONSE|GRPC_MAX_CONNECTION)_/;

/** Names that other programs use for the address of a store. They are common, so they only matter if no store is set. */
const ADDRESS =
  /^(REDIS|KVCACHE|MEMCACHE|ALTCACHE)_(HOST|HOSTS|HOSTNAME|ADDR|ADDRESS|ENDPOINT|SERVER|SERVERS|NODES)$/;

/** Names that are compared with settings. Shorter names are close to too many others. */
const CANDIDATE = /^[A-Za-z][A-Za-z0-9_]{5,63}$/;

/** More warnings would hide the first ones. */
const MAX_WARNINGS = 20;

/**
 * Warnings about variables that are probably misspelled settings: their names are close to a setting or have a prefix
 * that only settings use. Their values may be secrets and are never shown.
 */
export function misspelledSettings(
  env: Readonly<Record<string, string | undefined>>,
  values: SettingValues,
  givenBy: Readonly<Partial<Record<SettingKey, string>>>,
): SettingWarning[] {
  const hasNoStore = lacksAddress(values, givenBy);
  const warnings: SettingWarning[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || warnings.length === MAX_WARNINGS || !isUnknown(name, text)) continue;
    const meant = (hasNoStore ? addressMeantBy(name) : null) ?? settingMeantBy(name);
    if (meant !== null && !isGiven(meant, givenBy)) {
      warnings.push({
        message: 'Unknown environment variable ignored; its name is close to a setting',
        fields: { name, closest: meant },
      });
    } else if (meant === null && OWN_PREFIX.test(name)) {
      warnings.push({
        message: 'Unknown environment variable ignored; its prefix is one of settings',
        fields: { name, closest: nearest(name, [...KEYS.keys()]) ?? undefined },
      });
    }
  }
  return warnings;
}

/** True if the address of a store is missing, and not on purpose. */
function lacksAddress(
  { backendType }: SettingValues,
  givenBy: Readonly<Partial<Record<SettingKey, string>>>,
): boolean {
  if (backendType === 'embedded') return givenBy.backendType === undefined;
  return backendType === 'redis' && givenBy.redisUrl === undefined;
}

function isUnknown(name: string, text: string): boolean {
  if (!CANDIDATE.test(name) || KEYS.has(name) || TOLERATED.has(name)) return false;
  return !isServiceLink(name, text) && !MOGRIFIER.test(name);
}

function addressMeantBy(name: string): string | null {
  const store = ADDRESS.exec(name)?.[1];
  if (store === undefined) return null;
  return store === 'REDIS' || store === 'KVCACHE' ? `${store}_URL` : `${store}_HOST_PORT`;
}

function settingMeantBy(name: string): string | null {
  const upper = name.toUpperCase();
  const meant = nearestWithin(upper, KNOWN.keys(), slipsIn(upper));
  return meant === null ? null : (KNOWN.get(meant) as string);
}

/** Number of typos that still leave a name recognizable. */
function slipsIn(name: string): number {
  if (name.length < 12) return 1;
  return name.length < 20 ? 2 : 3;
}

/** True if the setting is given under its own name, so that the variable cannot mean it. */
function isGiven(name: string, givenBy: Readonly<Partial<Record<SettingKey, string>>>): boolean {
  return givenBy[KEYS.get(name) as SettingKey] !== undefined;
}

/** Variables that Kubernetes creates for each service: a service `redis` has `REDIS_PORT_6379_TCP`. */
const LINK = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$/;

/** Value of the variable `REDIS_PORT` that Kubernetes creates. */
const LINKED_PORT = /^(tcp|udp|sctp):\/\//;

/** True for a variable that Kubernetes created for a service, so it is neither a setting nor a typo. */
function isServiceLink(name: string, text: string): boolean {
  return LINK.test(name) || (name.endsWith('_PORT') && LINKED_PORT.test(text));
}

/** Settings with the name of a Kubernetes variable for services named `statsd`, `grpc` or `debug`. */
const PORTS: ReadonlySet<string> = new Set(
  [SETTINGS.grpcPort, SETTINGS.debugPort, SETTINGS.statsdPort].flatMap(({ names }) => names),
);

/** True for a Kubernetes variable with the name of a setting. It is ignored. */
export function isLinkedPort(name: string, text: string): boolean {
  return PORTS.has(name) && LINKED_PORT.test(text);
}

/** Warnings about Kubernetes variables with the name of a setting. */
export function linkedPorts(env: Readonly<Record<string, string | undefined>>): SettingWarning[] {
  return [...PORTS]
    .filter(name => isLinkedPort(name, env[name] ?? ''))
    .map(name => ({
      message: 'Environment variable ignored: Kubernetes created it for a service with this name',
      fields: { name, advice: 'set enableServiceLinks to false in the pod, or set the variable explicitly' },
    }));
}
