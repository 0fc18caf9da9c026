/** A map in a mapper file. It reads the fields and collects their faults. */
export class MapperNode {
  readonly faults: string[];
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #place: string;

  /**
   * @param place path of the map in the file; empty for the whole file
   * @param faults receives faults; shared by all nodes of a file
   */
  constructor(value: unknown, place: string, faults: string[]) {
    this.faults = faults;
    this.#place = place;
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isMap) faults.push(`${place === '' ? 'the file' : place} is not a map`);
    this.#fields = isMap ? (value as Record<string, unknown>) : {};
  }

  keys(): string[] {
    return Object.keys(this.#fields);
  }

  /** Reports fields with other names, which are probably misspelled. */
  knows(names: readonly string[]): void {
    const others = this.keys().filter(key => !names.includes(key));
    for (const key of others)
      this.faults.push(`${this.#path(key)} is unknown; known fields: ${names.join(', ')}`);
  }

  fault(field: string, accepted: string): void {
    this.faults.push(`${this.#path(field)} is ${shown(this.#fields[field])}; accepted: ${accepted}`);
  }

  /** Returns an empty string if the field is missing. Numbers and booleans count as texts without quotation marks. */
  text(field: string): string {
    const value = this.#fields[field] ?? '';
    if (typeof value === 'object') this.fault(field, 'a text');
    return typeof value === 'object' ? '' : String(value);
  }

  bool(field: string): boolean {
    const value = this.#fields[field] ?? false;
    if (typeof value !== 'boolean') this.fault(field, 'true or false');
    return value === true;
  }

  number(field: string): number | null {
    const value = this.#fields[field] ?? null;
    if (value === null || (typeof value === 'number' && Number.isFinite(value))) return value;
    this.fault(field, 'a number');
    return null;
  }

  numbers(field: string): readonly number[] | null {
    const value = this.#fields[field] ?? null;
    if (value === null) return null;
    if (Array.isArray(value) && value.every(each => typeof each === 'number' && Number.isFinite(each)))
      return value;
    this.fault(field, 'a list of numbers');
    return null;
  }

  choice(field: string, texts: readonly string[]): string | null {
    const value = this.#fields[field] ?? null;
    if (value === null || value === '') return null;
    if (typeof value === 'string' && texts.includes(value)) return value;
    this.fault(field, texts.join(' or '));
    return null;
  }

  /** Returns the map in a field; an empty map if the field is missing. */
  child(field: string): MapperNode {
    return new MapperNode(this.#fields[field] ?? {}, this.#path(field), this.faults);
  }

  /** Returns the maps in a list; an empty list if the field is missing. */
  items(field: string): MapperNode[] {
    const value = this.#fields[field] ?? [];
    if (Array.isArray(value)) {
      return value.map((item, at) => new MapperNode(item, `${this.#path(field)}[${at}]`, this.faults));
    }
    this.fault(field, 'a list');
    return [];
  }

  #path(field: string): string {
    return this.#place === '' ? field : `${this.#place}.${field}`;
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  return JSON.stringify(value).slice(0, 200);
}
