import type { Schema, StringSchema } from '../../../base/schema/schema.ts';
import { formatDuration, formatTimeOrNull } from '../../model/time.ts';
import type { DurationBounds, FieldReader, Fields } from './field-reader.ts';

/** A document that a request changes. */
export type Draft<D> = { -readonly [K in keyof D]: D[K] };

/** A request that makes a resource, or one that changes it. */
type Use = 'new' | 'change';

/** A flag of the command line that sets a field. */
interface FieldFlag {
  /** In kebab case; absent if it is the name of the field. */
  readonly name?: string;
  readonly placeholder: string;
  readonly help: string;
}

/**
 * One field of a resource, declared once: requests are checked and read by it, answers show it, and the OpenAPI document
 * with its examples and the flags of the command line are made from it.
 */
export interface Field<D> {
  /** Its form in requests, where it may be left out unless it is `required`; absent if only answers have it. */
  readonly takes?: Schema;
  /** Whether a request that makes the resource must have it. */
  readonly required?: true;
  /** The only request that may have it: one that makes the resource, or one that changes it. */
  readonly only?: Use;
  /**
   * Changes the draft to a value that `takes` has accepted; null restores the default. Adds faults to the reader. Absent
   * if the resource reads the field itself, together with others.
   *
   * @param pointer JSON pointer of the value
   */
  readonly put?: (draft: Draft<D>, value: unknown, reader: FieldReader, pointer: string) => void;
  /** Its form in answers; absent if only requests have it. */
  readonly shows?: Schema;
  /** Its value in answers. Absent if the resource shows the field itself. */
  readonly show?: (body: D) => unknown;
  readonly flag?: FieldFlag;
}

/** The fields of a resource by their names in the API, in the order in which answers have them. */
export type FieldTable<D> = Readonly<Record<string, Field<D>>>;

/** The properties of a request. In a change, every field may be left out. */
export function takenBy(table: FieldTable<never>, use: Use): Record<string, Schema> {
  const taken: Record<string, Schema> = {};
  for (const [name, { takes, required = false, only = use }] of Object.entries(table)) {
    if (takes === undefined || only !== use) continue;
    taken[name] = required && use === 'new' ? takes : { ...takes, optional: true };
  }
  return taken;
}

/** The properties of an answer. */
export function shownBy(table: FieldTable<never>): Record<string, Schema> {
  const shown: Record<string, Schema> = {};
  for (const [name, { shows }] of Object.entries(table)) if (shows !== undefined) shown[name] = shows;
  return shown;
}

/** Changes a draft to the fields of a request. Fields that are left out stay unchanged. */
export function putFields<D>(
  table: FieldTable<D>,
  fields: Fields,
  draft: Draft<D>,
  reader: FieldReader,
  at = '',
): void {
  for (const name of Object.keys(table)) {
    const value = fields[name];
    if (value !== undefined) table[name].put?.(draft, value, reader, `${at}/${name}`);
  }
}

/** What makes the views of documents: the fields that are shown, and an object that has all of them. */
interface ViewForm {
  readonly names: readonly string[];
  readonly shows: readonly ((body: never) => unknown)[];
  readonly blank: Readonly<Record<string, unknown>>;
}

const forms = new WeakMap<FieldTable<never>, ViewForm>();

function formOf(table: FieldTable<never>): ViewForm {
  const known = forms.get(table);
  if (known !== undefined) return known;
  const names: string[] = [];
  const shows: ((body: never) => unknown)[] = [];
  for (const [name, { show }] of Object.entries(table)) {
    if (show === undefined) continue;
    names.push(name);
    shows.push(show);
  }
  const form = { names, shows, blank: Object.fromEntries(names.map(name => [name, null])) };
  forms.set(table, form);
  return form;
}

/** The fields of a document in an answer, without those that it lacks and those that the resource shows itself. */
export function viewOf<D>(table: FieldTable<D>, body: D): Record<string, unknown> {
  const { names, shows, blank } = formOf(table);
  // A copy of an object with all fields is filled in half the time that an empty one takes to grow.
  const view = { ...blank };
  for (let i = 0; i < names.length; i++) {
    const value = shows[i](body as never);
    if (value === undefined) delete view[names[i]];
    else view[names[i]] = value;
  }
  return view;
}

export const TEXT = { type: 'string' } as const satisfies Schema;
export const TEXT_OR_NULL = { type: 'string', nullable: true } as const satisfies Schema;
export const WHOLE = { type: 'number', integer: true } as const satisfies Schema;
export const COUNT = { type: 'number', integer: true, min: 0 } as const satisfies Schema;
export const TIME = { type: 'string', format: 'date-time' } as const satisfies Schema;
export const TIME_OR_NULL = { ...TIME, nullable: true } as const satisfies Schema;

/** A duration in a request: a text with units, or a number of seconds. {@link FieldReader.duration} checks it. */
export const DURATION = {
  type: 'one_of',
  of: [
    { type: 'string', max: 64 },
    { type: 'number', min: 0 },
  ],
} as const satisfies Schema;

/** A duration that may be left out or null. */
export function durationField(description: string): Schema {
  return { ...DURATION, optional: true, nullable: true, description };
}

/** What all kinds of fields share. */
interface Common<V> extends Pick<Field<never>, 'required' | 'flag'> {
  /** An example of the value in answers. */
  readonly example?: unknown;
  /** The value after null, and of documents that lack the field. */
  readonly fallback?: V;
  /** Whether requests can send null; implied by a fallback. Without one, documents have null then. */
  readonly nullable?: true;
}

interface PlainField<V> extends Common<V> {
  readonly shows?: Schema;
}

interface DurationField<V> extends Common<V>, DurationBounds {
  readonly description?: string;
}

/** The kinds of fields of a document. */
export function fieldsOf<D>() {
  return {
    /** A field that documents have as requests do. */
    plain<K extends keyof D & string>(key: K, takes: Schema, options: PlainField<D[K]> = {}): Field<D> {
      const { fallback, shows = bareOf(takes) } = options;
      return {
        ...shownWith(shows, options),
        takes: takenWith(takes, options),
        put: (draft, value) => {
          draft[key] = (value ?? fallback ?? null) as D[K];
        },
        show: body => (body[key] === undefined ? fallback : body[key]),
      };
    },

    /** A field that documents have in milliseconds; its key ends with `Ms`. */
    duration<K extends keyof D & string>(key: K, options: DurationField<D[K]>): Field<D> {
      const { minMs, maxMs, description, fallback } = options;
      return {
        ...shownWith(TEXT, options),
        takes: takenWith({ ...DURATION, ...(description !== undefined && { description }) }, options),
        put: (draft, value, reader, pointer) => {
          const ms = reader.duration(value, pointer, { minMs, maxMs });
          if (ms !== undefined) draft[key] = (ms ?? fallback ?? null) as D[K];
        },
        show: body =>
          durationText((body[key] === undefined ? fallback : body[key]) as number | null | undefined),
      };
    },

    /** A time that may be null. */
    time<K extends keyof D & string>(
      key: K,
      description: string,
      more: Pick<Common<null>, 'flag' | 'example'> = {},
    ): Field<D> {
      return {
        ...shownWith(TIME, { nullable: true, ...more }),
        takes: { ...TIME, max: 64, nullable: true, description },
        put: (draft, value, reader, pointer) => {
          const at = reader.time(value, pointer);
          if (at !== undefined) draft[key] = at as D[K];
        },
        show: body => formatTimeOrNull((body[key] ?? null) as number | null),
      };
    },

    /** A time of the document in answers alone. */
    stamp<K extends keyof D & string>(key: K, shows: Partial<StringSchema> = {}): Field<D> {
      return { shows: { ...TIME, ...shows }, show: body => formatTimeOrNull(body[key] as number | null) };
    },

    /** A value of the document in answers alone. */
    shown<K extends keyof D & string>(key: K, shows: Schema): Field<D> {
      return { shows, show: body => body[key] };
    },
  };
}

/** A duration in answers; null and undefined stay as they are. */
export function durationText<M extends number | null | undefined>(ms: M): string | Exclude<M, number> {
  return typeof ms === 'number' ? formatDuration(ms) : (ms as Exclude<M, number>);
}

/** What an answer says of a value: its type and its words, without the bounds that requests have. */
function bareOf(takes: Schema): Schema {
  switch (takes.type) {
    case 'string': {
      const { enum: words, format } = takes;
      return { type: 'string', ...(words && { enum: words }), ...(format === 'date-time' && { format }) };
    }
    case 'number':
      return { type: 'number', ...(takes.integer === true && { integer: true }) };
    case 'array':
      return { type: 'array', items: bareOf(takes.items) };
    case 'record':
      return { type: 'record', values: bareOf(takes.values) };
    default:
      return { type: takes.type } as Schema;
  }
}

function takenWith(takes: Schema, { fallback, nullable }: Common<unknown>): Schema {
  return fallback !== undefined || nullable === true ? { ...takes, nullable: true } : takes;
}

function shownWith(
  shows: Schema,
  { required, flag, example, fallback, nullable }: Common<unknown>,
): Pick<Field<never>, 'shows' | 'required' | 'flag'> {
  const isNullable = fallback === null || (fallback === undefined && nullable === true);
  return {
    ...(required === true && { required }),
    ...(flag !== undefined && { flag }),
    shows: { ...shows, ...(isNullable && { nullable: true }), ...(example !== undefined && { example }) },
  };
}
