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

/** Set by deployers of the reference implementation, no version of which reads them. */
const TOLERATED: ReadonlySet<string> = new Set(['GRPC_SERVER_TLS_CA_CERT']);

/** Variables that the names of mogrifiers lead to. */
const MOGRIFIER = /^(AGENTSTATS|DOG_STATSD)_MOGRIFIER_\w+_(PATTERN|NAME|TAGS)$/;

/** Nothing else uses names that begin so. */
const OWN_PREFIX =
  /^(KVCACHE|ALTCACHE|PUSHSTATS|PULLSTATS|AGENTSTATS|CONFIG_GRPC_XDS|XDS_CLIENT|REDIS_PERSECOND|MEMORY_STORE|TASKS_REDIS|TASKS_PUSH|LIMIT_RESPONSE|GRPC_MAX_CONNECTION)_/;

/** What other programs call the address of a store. They are common, so they count only where no store is chosen. */
const ADDRESS =
  /^(REDIS|KVCACHE|MEMCACHE|ALTCACHE)_(HOST|HOSTS|HOSTNAME|ADDR|ADDRESS|ENDPOINT|SERVER|SERVERS|NODES)$/;

/** The shape of a name that is worth a look. A shorter one is near too many others. */
const CANDIDATE = /^[A-Za-z][A-Za-z0-9_]{5,63}$/;

/** More lines would bury the first ones. */
const MAX_WARNINGS = 20;

/**
 * Variables that are no setting and look as if they were meant to be one: a slip in the name, or a name with a prefix
 * that only settings have. Their texts may be secrets and are never shown.
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
        message: 'An environment variable is ignored: it is no setting, but its name is close to one',
        fields: { name, closest: meant },
      });
    } else if (meant === null && OWN_PREFIX.test(name)) {
      warnings.push({
        message: 'An environment variable is ignored: there is no setting of this name',
        fields: { name, closest: nearest(name, [...KEYS.keys()]) ?? undefined },
      });
    }
  }
  return warnings;
}

/** No address of a store is given, and that is not on purpose. */
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

/** How many slips still leave a name recognizable. */
function slipsIn(name: string): number {
  if (name.length < 12) return 1;
  return name.length < 20 ? 2 : 3;
}

/** A setting that is given is not missing under another name. */
function isGiven(name: string, givenBy: Readonly<Partial<Record<SettingKey, string>>>): boolean {
  return givenBy[KEYS.get(name) as SettingKey] !== undefined;
}

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
