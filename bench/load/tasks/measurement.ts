import type { Figure } from './figures.ts';
import type { PushSink } from './push-sink.ts';
import type { TaskService } from './task-service.ts';

/** How much is done: a full run, or one that only shows the order of magnitude. */
export interface Size {
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly pushed: number;
  readonly burst: number;
  readonly stored: number;
  readonly ended: number;
  readonly schedules: number;
  readonly tenants: number;
}

export const FULL: Size = {
  warmUpMs: 2_000,
  measuredMs: 8_000,
  pushed: 20_000,
  burst: 100_000,
  stored: 1_000_000,
  ended: 200_000,
  schedules: 10_000,
  tenants: 1_000,
};

export const QUICK: Size = {
  warmUpMs: 500,
  measuredMs: 2_000,
  pushed: 4_000,
  burst: 10_000,
  stored: 50_000,
  ended: 10_000,
  schedules: 1_000,
  tenants: 100,
};

/** What a part measures with. */
export interface Setting {
  readonly service: TaskService;
  readonly sink: PushSink;
  readonly size: Size;
}

export type Value = Omit<Figure, 'part' | 'store'>;
export type Part = (setting: Setting) => Promise<Value[]>;

export function atLeast(what: string, value: number, unit: string, aim: number): Value {
  return { what, value, unit, aim: { atLeast: aim } };
}

export function atMost(what: string, value: number, unit: string, aim: number): Value {
  return { what, value, unit, aim: { atMost: aim } };
}

export function shown(what: string, value: number, unit: string): Value {
  return { what, value, unit, aim: null };
}
