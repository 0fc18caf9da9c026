/** One thing wrong with the settings. */
export interface SettingFault {
  /** The variables at fault, each with its text as {@link shownAs} gives it: `PORT="80x"`. */
  readonly given: readonly string[];
  /** What is wrong with it. */
  readonly problem: string;
  /** What to write instead. */
  readonly accepted: string;
}

/** One line for a log: `PORT="80x": not a whole number; accepted: a whole number from 0 to 65535`. */
export function describeSettingFault(fault: SettingFault): string {
  return `${fault.given.join(' and ')}: ${fault.problem}; accepted: ${fault.accepted}`;
}

/** The start is refused. The message lists every fault of every setting, a line each. */
export class SettingsRefused extends Error {
  readonly faults: readonly SettingFault[];

  constructor(faults: readonly SettingFault[]) {
    const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
    super(
      [`the settings have ${count}:`, ...faults.map(fault => `  ${describeSettingFault(fault)}`)].join('\n'),
    );
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
