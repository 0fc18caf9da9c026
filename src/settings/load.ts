import { CROSS_CHECKS } from './checks.ts';
import {
  isHidden,
  MASK,
  type SettingFault,
  SettingsRefused,
  type SettingWarning,
  shownAs,
} from './faults.ts';
import { isLinkedPort, linkedPorts, misspelledSettings } from './ignored-variables.ts';
import { type Reading, type Setting, trimmed } from './kinds/kinds.ts';
import { postgresAsksForTls } from './kinds/postgres-address.ts';
import { asksForTls, DEFAULT_REDIS_ADDRESS, isSocketPath } from './kinds/redis-address.ts';
import { readMogrifiers } from './mogrifiers.ts';
import { storeWarnings, tlsWarnings } from './store-settings.ts';
import {
  type DeclaredValues,
  SETTINGS,
  type SettingKey,
  type Settings,
  type SettingValues,
  settingEntries,
} from './table.ts';
import { defaultServeThreads, defaultWorkerThreads } from './thread-counts.ts';

/** Variables by name, as `process.env` gives them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A longer value is a mistake, such as the content of a file instead of its path. */
const MAX_TEXT_CHARACTERS = 8_192;

/**
 * Reads every setting from environment variables. Other variables are ignored, with a warning if they are probably
 * misspelled settings.
 * @throws SettingsRefused with all faults
 */
export function loadSettings(env: Environment): Settings {
  const values: Partial<Record<SettingKey, unknown>> = {};
  const givenBy: Partial<Record<SettingKey, string>> = {};
  const refused = new Set<SettingKey>();
  const faults: SettingFault[] = [];
  const warnings: SettingWarning[] = [];
  for (const [key, setting] of settingEntries()) {
    values[key] = setting.default;
    const given = givenTexts(setting, env);
    if (given.length === 0) continue;
    warnings.push(...given.filter(each => each.wasTrimmed).map(whiteSpaceRemoved));
    if (setting.secret) warnings.push(...given.filter(({ text }) => isQuoted(text)).map(quotesKept));
    const { variable, text } = given[0];
    const reading = readText(setting, text);
    // A text for the default (an empty `BACKEND_TYPE`) does not count as given.
    if ('refused' in reading || reading.value !== null) givenBy[key] = variable;
    if ('value' in reading) {
      values[key] = reading.value;
      if (reading.clamped) warnings.push(outOfRange(variable, text, setting, reading.value));
    }
    const found = faultsOf(setting, given);
    if (found.length > 0) refused.add(key);
    faults.push(...found);
  }
  // The loop above gave each key a value of its kind; the compiler cannot infer that.
  const declared = values as DeclaredValues;
  const complete = withDerivedDefaults(declared);
  const shown = (key: SettingKey) => shownSetting(key, complete, env);
  faults.push(...crossFaults({ complete, givenBy, refused, shown }));
  const sendsDogStatsd = complete.useDogStatsd && !complete.disableStats;
  const mogrifiers = readMogrifiers(sendsDogStatsd ? complete.dogStatsdMogrifiers : [], env, faults);
  const misspelled = misspelledSettings(env, complete, givenBy);
  if (faults.length > 0) throw new SettingsRefused(faults, misspelled);
  warnings.push(...linkedPorts(env), ...storeWarnings({ values: complete, givenBy }));
  warnings.push(...tlsWarnings(declared, givenBy), ...misspelled);
  return Object.freeze({ ...complete, mogrifiers, givenBy: Object.freeze(givenBy), warnings });
}

/** A line break at the end of a password would be sent, and the server would reject it without a hint. */
function whiteSpaceRemoved({ variable }: GivenText): SettingWarning {
  return {
    message: 'White space was removed from a setting; write its value without it (echo -n, or printf)',
    fields: { setting: variable },
  };
}

/** Files with variables for containers are not read by a shell, which would remove the quotes. */
function isQuoted(text: string): boolean {
  return /^(["']).+\1$/s.test(text);
}

function quotesKept({ variable }: GivenText): SettingWarning {
  return {
    message:
      'The value of a setting begins and ends with a quote, which belongs to the value; remove the quotes',
    fields: { setting: variable },
  };
}

function outOfRange(
  variable: string,
  text: string,
  setting: Setting<unknown>,
  value: unknown,
): SettingWarning {
  return {
    message: 'Setting is out of range; the nearest accepted value is used',
    fields: {
      given: shownAs(variable, text, setting.secret),
      used: setting.kind.write(value),
      accepted: setting.kind.accepts,
    },
  };
}

/** Fills in the defaults that depend on other settings. The return type makes sure that none is missing. */
function withDerivedDefaults(declared: DeclaredValues): SettingValues {
  const redisUrl = declared.redisUrl ?? DEFAULT_REDIS_ADDRESS;
  const backendType = declared.backendType ?? backendOf(declared);
  const serveThreads = declared.serveThreads ?? defaultServeThreads();
  return {
    ...declared,
    redisUrl,
    redisTls: declared.redisTls || asksForTls(redisUrl),
    redisPerSecondTls: declared.redisPerSecondTls || asksForTls(declared.redisPerSecondUrl),
    tasksRedisTls: declared.tasksRedisTls || asksForTls(declared.tasksRedisUrl),
    tasksPostgresTls: declared.tasksPostgresTls || postgresAsksForTls(declared.tasksPostgresUrl),
    redisSocketType: declared.redisSocketType ?? socketTypeOf(redisUrl),
    redisPerSecondSocketType: declared.redisPerSecondSocketType ?? socketTypeOf(declared.redisPerSecondUrl),
    backendType,
    tasksMaxOpen: declared.tasksMaxOpen ?? (declared.tasksStore === 'redis' ? 200_000 : 1_000_000),
    serveThreads,
    workerThreads: declared.workerThreads ?? defaultWorkerThreads({ ...declared, serveThreads }),
    // As in the reference implementation, which returns errors of Redis to the caller and hides those of memcached.
    storeFailureMode: declared.storeFailureMode ?? (backendType === 'memcached' ? 'allow' : 'error'),
  };
}

function socketTypeOf(redisUrl: string): 'unix' | 'tcp' {
  return isSocketPath(redisUrl) ? 'unix' : 'tcp';
}

/** The store whose address is set; without an address, the embedded store, which needs no server. */
function backendOf(declared: DeclaredValues): SettingValues['backendType'] {
  if (declared.redisUrl !== null) return 'redis';
  return declared.memcachedServers === '' && declared.memcachedSrv === '' ? 'embedded' : 'memcached';
}

interface GivenText {
  readonly variable: string;
  /** Without white space that the value cannot contain. */
  readonly text: string;
  readonly wasTrimmed: boolean;
}

/** The texts of a setting, under each of its names that is set; the empty text counts as set. */
function givenTexts(setting: Setting<unknown>, env: Environment): GivenText[] {
  return setting.names.flatMap(variable => {
    const whole = env[variable];
    if (whole === undefined || isLinkedPort(variable, whole)) return [];
    // A text that is too long is refused, so it is not searched.
    const text = whole.length > MAX_TEXT_CHARACTERS ? whole : trimmed(setting.kind, whole);
    return [{ variable, text, wasTrimmed: text !== whole }];
  });
}

function readText(setting: Setting<unknown>, text: string): Reading<unknown> {
  if (text.length > MAX_TEXT_CHARACTERS) {
    return { refused: `${text.length} characters; the maximum is ${MAX_TEXT_CHARACTERS}` };
  }
  const reading = setting.kind.read(text);
  return 'refused' in reading && isQuoted(text)
    ? { refused: 'it is enclosed in quotes, which belong to the value: remove them' }
    : reading;
}

function faultsOf(setting: Setting<unknown>, given: readonly GivenText[]): SettingFault[] {
  const shown = ({ variable, text }: GivenText) => shownAs(variable, text, setting.secret);
  const faults = given.flatMap(one => {
    const reading = readText(setting, one.text);
    if ('value' in reading) return [];
    return [{ given: [shown(one)], problem: reading.refused, accepted: setting.kind.accepts }];
  });
  if (given.some(({ text }) => text !== given[0].text)) {
    faults.push({
      given: given.map(shown),
      problem: 'the names of one setting have different values',
      accepted: 'one of them, or the same value in each',
    });
  }
  return faults;
}

interface CrossCheckInput {
  readonly complete: SettingValues;
  readonly givenBy: Settings['givenBy'];
  readonly refused: ReadonlySet<SettingKey>;
  readonly shown: (key: SettingKey) => string;
}

/** Faults of settings that are valid by themselves but not together. */
function crossFaults({ complete, givenBy, refused, shown }: CrossCheckInput): SettingFault[] {
  return CROSS_CHECKS.flatMap(check => {
    const finding = check.reads.some(key => refused.has(key)) ? null : check.find(complete, givenBy);
    if (finding === null) return [];
    return [{ given: finding.blamed.map(shown), problem: finding.problem, accepted: finding.accepted }];
  });
}

function shownSetting(key: SettingKey, values: SettingValues, env: Environment): string {
  const setting: Setting<unknown> = SETTINGS[key];
  const given = givenTexts(setting, env)[0];
  if (given !== undefined) return shownAs(given.variable, given.text, setting.secret);
  return `${shownAs(setting.names[0], setting.kind.write(values[key]), false)} (default)`;
}

/** A setting as a log may show it. */
interface SettingDescription {
  /** The variable that gave it, or its first name. */
  readonly name: string;
  /** The text that gives this value; masked when it is a secret. */
  readonly value: string;
  readonly source: 'default' | 'environment';
}

/** Every setting with its value and source, for the log. Secrets are masked. */
export function describeSettings(settings: Settings): SettingDescription[] {
  return settingEntries().map(([key, setting]) => {
    const variable = settings.givenBy[key];
    const text = setting.kind.write(settings[key]);
    if (variable === undefined) return { name: setting.names[0], value: text, source: 'default' };
    const value = isHidden(variable, text, setting.secret) ? MASK : text;
    return { name: variable, value, source: 'environment' };
  });
}
