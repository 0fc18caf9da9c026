/** Arguments of a command that cannot be followed; the text says which and what to write instead. */
export class BadArguments extends Error {}

export interface NumberBounds {
  /** The option, as its user writes it. */
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** A number given on the command line, between `min` and `max`. */
export function boundedNumber(text: string, { name, min, max }: NumberBounds): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= min && value <= max)) {
    throw new BadArguments(`${name} ${text} is not a number from ${min} to ${max}`);
  }
  return value;
}

/** The same for what can only be counted. */
export function wholeNumber(text: string, bounds: NumberBounds): number {
  const value = boundedNumber(text, bounds);
  if (!Number.isInteger(value)) {
    throw new BadArguments(
      `${bounds.name} ${text} is not a whole number from ${bounds.min} to ${bounds.max}`,
    );
  }
  return value;
}

/** Whole numbers with commas between them, none of them twice. */
export function wholeNumbers(text: string, bounds: NumberBounds): number[] {
  const numbers = text.split(',').map(each => wholeNumber(each, bounds));
  if (new Set(numbers).size < numbers.length) {
    throw new BadArguments(`${bounds.name} ${text} has a number twice`);
  }
  return numbers;
}

export interface NameList<T extends string> {
  /** The option, as its user writes it. */
  readonly name: string;
  readonly known: readonly T[];
}

/** Names with commas between them, each of which must be known. */
export function listed<T extends string>(text: string, { name, known }: NameList<T>): T[] {
  return text.split(',').map(each => {
    const found = known.find(one => one === each);
    if (found === undefined) throw new BadArguments(`${name} ${each} is not one of ${known.join(', ')}`);
    return found;
  });
}
