/** An entry of a descriptor. An empty value stands for every value where patterns are accepted. */
export interface Entry {
  readonly key: string;
  readonly value: string;
}

/** A domain and the entries of a descriptor, as a request sends them. */
export interface Descriptor {
  readonly domain: string;
  readonly entries: readonly Entry[];
}

/** The entries as commands take them: `user=ann,path=/a`. */
export function descriptorText(entries: readonly Entry[]): string {
  return entries.map(({ key, value }) => (value === '' ? key : `${key}=${value}`)).join(',');
}

/**
 * Reads the text of {@link descriptorText}. A value cannot contain a comma.
 *
 * @throws Error that says what is wrong, for the user
 */
export function readDescriptor(text: string): readonly Entry[] {
  if (text.trim() === '') throw new Error('Write the entries as key=value, separated by commas.');
  return text.split(',').map(part => {
    const entry = part.trim();
    const equals = entry.indexOf('=');
    const key = equals === -1 ? entry : entry.slice(0, equals);
    if (key === '') throw new Error('An entry has no key. Write key=value, separated by commas.');
    return { key, value: equals === -1 ? '' : entry.slice(equals + 1) };
  });
}
