import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import type { Health } from '../../base/health.ts';
import type { BatchFigures } from '../../decision/statistics/batch-figures.ts';
import { LatestFigures, type RecentFigures } from '../../decision/statistics/latest-figures.ts';
import type { RuleRates } from '../../decision/statistics/rule-rates.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { RuleLoads } from '../../rules/rule-loads.ts';
import type { Settings } from '../../settings/table.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import type { Histogram } from '../../stats/histogram.ts';
import { ratePointView } from '../../transports/debug/operator/figures.ts';
import type { ProcessView, StatusView } from '../../transports/debug/operator/status-routes.ts';
import { describeStore } from '../stores/store-text.ts';

interface StatusParts {
  readonly settings: Settings;
  /** The version of the service. */
  readonly version: string;
  readonly health: Health;
  readonly rules: () => CompiledRules | null;
  readonly loads: RuleLoads;
  readonly rates: RuleRates;
  readonly batchFigures: BatchFigures;
  readonly clock: Clock;
}

/** The status of this process, as `GET /status` answers it. */
export class ProcessStatus {
  readonly #parts: StatusParts;
  readonly #figures: LatestFigures;
  readonly #process: StatusView['process'];

  constructor(parts: StatusParts) {
    const { clock, batchFigures } = parts;
    this.#parts = parts;
    this.#figures = new LatestFigures(batchFigures, clock.nowMs());
    this.#process = {
      id: randomUUID(),
      host: hostname(),
      pid: process.pid,
      started: timeText(clock.nowMs()),
    };
  }

  /** @param others the other processes that share the store */
  async read(others: readonly ProcessView[]): Promise<StatusView> {
    const { version, health, rates, clock, settings } = this.#parts;
    await rates.look();
    const nowMs = clock.nowMs();
    const { latest } = rates;
    return {
      time: timeText(nowMs),
      version,
      process: this.#process,
      healthy: health.healthy,
      components: [...health.components].map(([name, { ok, note }]) => ({ name, healthy: ok, note })),
      store: {
        type: settings.backendType,
        address: describeStore(settings),
        connected: health.components.get('store')?.ok ?? true,
        failure_mode: settings.storeFailureMode,
      },
      threads: { serving: servingThreads(settings).threads, deciding: settings.workerThreads },
      rules: this.#rules(),
      latency: latencyView(this.#figures.look(nowMs)),
      processes: [this.self(), ...others],
      admin: {
        changes: settings.adminToken === '' && settings.adminTokenFile === '' ? 'no_token' : 'enabled',
      },
      tasks: { enabled: settings.tasksEnabled },
      rates: latest === null ? null : ratePointView(latest),
    };
  }

  #rules(): StatusView['rules'] {
    const { rules, loads } = this.#parts;
    const [last] = loads.all;
    const current = rules();
    return {
      domains: current?.domainCount ?? 0,
      limits: current?.limitCount ?? 0,
      loaded: this.#loaded(),
      faults: last === undefined || last.outcome === 'active' ? 0 : Math.max(last.faults.length, 1),
    };
  }

  #loaded(): string | null {
    const active = this.#parts.loads.all.find(({ outcome }) => outcome === 'active');
    return active === undefined ? null : timeText(active.atMs);
  }

  /** This process, with the rates that were sampled last. */
  self(): ProcessView {
    const { rates, clock } = this.#parts;
    const { latest } = rates;
    const perSecond = (hits: number, seconds: number) => Math.round((hits / seconds) * 10) / 10;
    return {
      ...this.#process,
      seen: timeText(clock.nowMs()),
      version: this.#parts.version,
      hits_per_second: latest === null ? null : perSecond(latest.hits, latest.seconds),
      rejected_per_second: latest === null ? null : perSecond(latest.refused, latest.seconds),
      rules_loaded: this.#loaded(),
      is_this: true,
    };
  }
}

function latencyView({ seconds, decision, store, requests }: RecentFigures): StatusView['latency'] {
  return {
    seconds: rounded(seconds),
    decision: { p50_ms: quantile(decision, 0.5), p99_ms: quantile(decision, 0.99) },
    store: { p50_ms: quantile(store, 0.5), p99_ms: quantile(store, 0.99) },
    batch: { requests_p50: wholeQuantile(requests, 0.5), requests_p99: wholeQuantile(requests, 0.99) },
  };
}

function quantile(histogram: Histogram, share: number): number | null {
  return histogram.count === 0 ? null : rounded(histogram.quantileMs(share));
}

/** A bucket of whole numbers ends at the last one below its bound. */
function wholeQuantile(histogram: Histogram, share: number): number | null {
  return histogram.count === 0 ? null : Math.floor(histogram.quantileMs(share));
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
