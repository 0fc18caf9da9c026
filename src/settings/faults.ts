import type { LogFields } from '../base/logger.ts';

/** One thing wrong with the settings. */
export interface SettingFault {
  /** The variables at fault, each with its text as {@link shownAs} gives it: `PORT="80x"`. */
  readonly given: readonly string[];
  /** What is wrong with it. */
  readonly problem: string;
  /** What to write instead. */
  readonly accepted: string;
}

/** Something an operator should know about the settings although the service starts: a log line at level warning. */
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

/** The start is refused. The message lists every fault of every setting, a line each, and then the hints. */
export class SettingsRefused extends Error {
  readonly faults: readonly SettingFault[];

  /** What may have led to the faults. */
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

/** What stands in place of a secret. */
export const MASK = '***';

const MAX_SHOWN_CHARACTERS = 100;

/**
 * A variable with its text, for a fault: one line whatever the text holds, long texts cut.
 * A secret is masked, but an empty one is shown: that it is empty is what the operator must learn.
 */
export function shownAs(variable: string, text: string, secret: boolean): string {
  if (secret && text !== '') return `${variable}=${MASK}`;
  const cut = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}...` : text;
  return `${variable}=${quoted(cut)}`;
}

/** JSON leaves some control characters as they are; a terminal would obey them. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
