import { asError } from '../base/fault.ts';
import { goPattern } from '../base/go-pattern.ts';
import { type SettingFault, shownAs } from './faults.ts';
import { type TagText, tags } from './kinds/statistics-kinds.ts';

/** One mogrifier, read from its variables. */
export interface MogrifierSetting {
  readonly pattern: RegExp;
  readonly name: string;
  readonly tags: readonly TagText[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The documented prefix of the variables, then the prefix of the reference implementation. */
const PREFIXES = ['AGENTSTATS_MOGRIFIER_', 'DOG_STATSD_MOGRIFIER_'] as const;

/** Reads the variables of each of these mogrifiers, in this order; its faults go to `faults`. */
export function readMogrifiers(
  names: readonly string[],
  env: Environment,
  faults: SettingFault[],
): MogrifierSetting[] {
  return names.map(name => {
    const read = (part: string) => new Variable(`${name.toUpperCase()}_${part}`, env, faults);
    return { pattern: patternOf(read('PATTERN')), name: nameOf(read('NAME')), tags: tagsOf(read('TAGS')) };
  });
}

class Variable {
  readonly text: string;
  readonly #shown: string[];
  readonly #faults: SettingFault[];

  constructor(ending: string, env: Environment, faults: SettingFault[]) {
    const given = PREFIXES.map(prefix => prefix + ending).filter(variable => env[variable] !== undefined);
    this.#faults = faults;
    this.text = (env[given[0]] as string | undefined) ?? '';
    this.#shown = given.map(variable => shownAs(variable, env[variable] as string, false));
    if (given.some(variable => env[variable] !== this.text)) {
      this.refuse('the names of one setting have different values', 'one of them, or the same value in each');
    }
    if (given.length === 0) this.#shown.push(PREFIXES[0] + ending);
  }

  refuse(problem: string, accepted: string): void {
    this.#faults.push({ given: this.#shown, problem, accepted });
  }
}

function patternOf(variable: Variable): RegExp {
  const accepted = 'a regular expression for names of statistics';
  if (variable.text === '') variable.refuse('the mogrifier requires a pattern', accepted);
  try {
    return goPattern(variable.text);
  } catch (failure) {
    variable.refuse(`not a regular expression: ${asError(failure).message}`, accepted);
    return /(?!)/;
  }
}

function nameOf(variable: Variable): string {
  if (variable.text === '')
    variable.refuse('the mogrifier requires a name', 'the new name, such as limits.$1');
  return variable.text;
}

function tagsOf(variable: Variable): readonly TagText[] {
  const reading = tags.read(variable.text);
  if ('refused' in reading) {
    variable.refuse(reading.refused, tags.accepts);
    return [];
  }
  if (reading.value.some(tag => tag.includes(''))) {
    variable.refuse('a tag without a name or value', tags.accepts);
  }
  return reading.value;
}
