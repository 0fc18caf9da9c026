import { nearest, nearestWithin } from '../base/nearest.ts';
import type { SettingWarning } from './faults.ts';
import { isServiceLink } from './service-links.ts';
import { type SettingKey, type SettingValues, settingEntries } from './table.ts';

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
