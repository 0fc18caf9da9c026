import { mayBeSecret } from '../base/files/auth-file.ts';
import type { LogFields } from '../base/logger.ts';

/** One thing wrong with the settings. */
export interface SettingFault {
  /** The variables at fault, each with its text as {@link shownAs} gives it: `PORT="80x"`. */
  readonly given: readonly string[];
  /** The problem. */
  readonly problem: string;
  /** The accepted values. */
  readonly accepted: string;
}

/** A problem of the settings that does not prevent the start. It is logged as a warning. */
export interface SettingWarning {
  readonly message: string;
  /** Never the text of a secret. */
  readonly fields: LogFields;
}

/** A warning as one line of text: `message (name=REDIS_ULR closest=REDIS_URL)`. */
function describeWarning({ message, fields }: SettingWarning): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return `${message} (${given.map(([name, value]) => `${name}=${value}`).join(' ')})`;
}

/** One line for a log: `PORT="80x": not a whole number; accepted: a whole number from 0 to 65535`. */
function describeSettingFault(fault: SettingFault): string {
  return `${fault.given.join(' and ')}: ${fault.problem}; accepted: ${fault.accepted}`;
}

/** The settings are invalid and the service does not start. The message has a line for each fault, then the hints. */
export class SettingsRefused extends Error {
  readonly faults: readonly SettingFault[];

  /** Warnings that may explain the faults. */
  readonly hints: readonly SettingWarning[];

  constructor(faults: readonly SettingFault[], hints: readonly SettingWarning[] = []) {
    const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
    const lines = [...faults.map(describeSettingFault), ...hints.map(describeWarning)];
    super([`the settings have ${count}:`, ...lines.map(line => `  ${line}`)].join('\n'));
    this.hints = hints;
    this.name = 'SettingsRefused';
    this.faults = faults;
  }
}

/** Shown instead of a secret. */
export const MASK = '***';

const PATH_OF_SECRET = /(?:AUTH|TOKEN|SECRET|KEY|PASSWORD)_FILE$/;

/** Whether the text of a setting must not be shown. Instead of the path of a file, its content may have been given. */
export function isHidden(variable: string, text: string, secret: boolean): boolean {
  if (text === '') return false;
  return secret || text.includes('-----BEGIN ') || (PATH_OF_SECRET.test(variable) && mayBeSecret(text));
}

const MAX_SHOWN_CHARACTERS = 100;

/**
 * A variable with its text, for a fault: one line whatever the text holds, long texts cut.
 * A secret is masked unless it is empty, because the operator needs to know that it is empty.
 */
export function shownAs(variable: string, text: string, secret: boolean): string {
  if (isHidden(variable, text, secret)) return `${variable}=${MASK}`;
  const cut = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}...` : text;
  return `${variable}=${quoted(cut)}`;
}

/** JSON does not escape all control characters, and a terminal would interpret them. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
