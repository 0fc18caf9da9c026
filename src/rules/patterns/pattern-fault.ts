import { StacklessError } from '../../base/fault.ts';

/** Why a pattern is refused. The message is for the author of the pattern: what is wrong, where, and what to write. */
export class PatternFault extends StacklessError {
  /** Where in the pattern: an index of UTF-16 code units. 0 if it concerns the whole pattern. */
  readonly index: number;

  constructor(message: string, index: number) {
    super(message);
    this.name = 'PatternFault';
    this.index = index;
  }
}

/** The fault of a pattern that exceeds one of the bounds. */
export function tooLarge(): PatternFault {
  return new PatternFault(
    'the pattern needs too many states: use smaller counts such as `{20}`, or fewer of them, ' +
      'or begin the pattern with `^`',
    0,
  );
}
