import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PrometheusServer } from './prometheus-server.ts';
import { repositoryRoot } from './repository.ts';

export interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat: string;
  readonly instant: boolean;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly fieldConfig?: {
    readonly defaults: { readonly unit: string };
    readonly overrides: readonly { readonly matcher: { readonly id: string; readonly options: string } }[];
  };
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
  readonly allValue?: string;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly templating: { readonly list: readonly Variable[] };
}

/** The dashboard of `ops/grafana`. */
export function readDashboard(): Dashboard {
  return JSON.parse(readFileSync(join(repositoryRoot(), 'ops/grafana/sluice.json'), 'utf8'));
}

/** Replaces the variables in an expression. */
export type Interpolate = (expr: string) => string;

/**
 * Reads the variables of the dashboard as Grafana does, with everything selected, from a Prometheus that has the data.
 *
 * @param window what Grafana would compute for `$__rate_interval`, such as `20s`
 */
export async function everythingSelected(
  prometheus: PrometheusServer,
  { templating }: Dashboard,
  window: string,
): Promise<Interpolate> {
  const values = new Map([['__rate_interval', window]]);
  const interpolate = (expr: string): string =>
    expr.replace(/\$(\w+)/g, (whole, name: string) => values.get(name) ?? whole);
  for (const { name, query, allValue } of templating.list) {
    if (typeof query === 'string') continue;
    const [, selector, label] = query.query.match(/^label_values\((.*), (\w+)\)$/) ?? [];
    const found = await prometheus.labelValues(interpolate(selector), label);
    if (found.length === 0) throw new Error(`the variable ${name} has no values`);
    // As in Grafana: an alternative of escaped values, in a string of PromQL.
    const escaped = found.map(value => value.replace(/[\\^$*+?.()|[\]{}]/g, '\\\\$&'));
    values.set(name, allValue ?? `(${escaped.join('|')})`);
  }
  return interpolate;
}
