/** A time as inputs of the type `datetime-local` write it, to the second. */
export function localTime(iso: string): string {
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The time of an input of the type `datetime-local`. Null without one: browsers accept years that dates cannot have. */
export function isoTime(local: string): string | null {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** What is beside an input whose time {@link isoTime} cannot read. */
export const NO_TIME = 'This is not a time.';
