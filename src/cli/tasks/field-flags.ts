import type { Schema } from '../../base/schema/schema.ts';
import { integer } from '../../settings/kinds/kinds.ts';
import type { FieldTable } from '../../tasks/rest/checks/resource.ts';
import { readFlag } from '../terminal/flags.ts';
import type { Json } from './tasks-api.ts';
import { TEXT } from './tasks-flags.ts';

interface TextFlag {
  readonly kind: 'text';
  readonly default: '';
  readonly placeholder: string;
  readonly help: string;
}

/** The flags that set fields of a resource, by their names. */
export function flagsOf(table: FieldTable<never>): Readonly<Record<string, TextFlag>> {
  const flags: Record<string, TextFlag> = {};
  for (const [field, { flag }] of Object.entries(table)) {
    if (flag === undefined) continue;
    const { name = nameOf(field), placeholder, help } = flag;
    flags[name] = { ...TEXT, placeholder, help };
  }
  return flags;
}

/**
 * The fields that {@link flagsOf} stand for, without those whose flag is not given.
 *
 * @throws UsageFault
 */
export function fieldsOfFlags(table: FieldTable<never>, flags: Readonly<Record<string, unknown>>): Json {
  const fields: Record<string, unknown> = {};
  for (const [field, { flag, takes }] of Object.entries(table)) {
    if (flag === undefined || takes === undefined) continue;
    const { name = nameOf(field) } = flag;
    const text = flags[name];
    if (typeof text === 'string' && text !== '') fields[field] = valueOfFlag(name, text, takes);
  }
  return fields;
}

function nameOf(field: string): string {
  return field.replaceAll('_', '-');
}

/** A list is separated by commas, and `none` clears a number. */
function valueOfFlag(flag: string, text: string, takes: Schema): unknown {
  if (takes.type === 'array') return text.split(',');
  if (takes.type !== 'number') return text;
  if (takes.nullable === true && text === 'none') return null;
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = takes;
  return readFlag(flag, text, integer({ min, max }));
}
