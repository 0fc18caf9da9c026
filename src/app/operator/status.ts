import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BatchFigures } from '../../decision/statistics/batch-figures.ts';
import { LatestFigures, type RecentFigures } from '../../decision/statistics/latest-figures.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import type { Histogram } from '../../stats/histogram.ts';
import { ratePointView } from '../../transports/debug/operator/figures.ts';
import type { ProcessView, StatusView } from '../../transports/debug/operator/status-routes.ts';
import type { Rules } from '../rules/rules.ts';
import { describeStore } from '../stores/store-text.ts';
import type { PrimaryThread } from '../surroundings.ts';

/** The status of this process, as `GET /status` answers it. */
export class ProcessStatus {
  readonly #primary: PrimaryThread;
  readonly #rules: Rules;
  readonly #figures: LatestFigures;
  readonly #process: StatusView['process'];

  constructor(primary: PrimaryThread, rules: Rules, batchFigures: BatchFigures) {
    const { clock } = primary;
    this.#primary = primary;
    this.#rules = rules;
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
    const { version, health, clock, settings } = this.#primary;
    const { rates } = this.#rules;
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
      rules: this.#rulesView(),
      latency: latencyView(this.#figures.look(nowMs)),
      processes: [this.self(), ...others],
      admin: {
        changes: settings.adminToken === '' && settings.adminTokenFile === '' ? 'no_token' : 'enabled',
      },
      tasks: { enabled: settings.tasksEnabled },
      rates: latest === null ? null : ratePointView(latest),
    };
  }

  #rulesView(): StatusView['rules'] {
    const { current, loads } = this.#rules;
    const [last] = loads.all;
    return {
      domains: current?.domainCount ?? 0,
      limits: current?.limitCount ?? 0,
      loaded: this.#loaded(),
      digest: this.#rules.digest,
      faults: last === undefined || last.outcome === 'active' ? 0 : Math.max(last.faults.length, 1),
    };
  }

  #loaded(): string | null {
    const active = this.#rules.loads.all.find(({ outcome }) => outcome === 'active');
    return active === undefined ? null : timeText(active.atMs);
  }

  /** Why the latest rules are not active; null if they are. */
  #error(): string | null {
    const [last] = this.#rules.loads.all;
    return last === undefined || last.outcome === 'active' ? null : (last.reasons[0] ?? last.outcome);
  }

  /** This process, with the rates that were sampled last. */
  self(): ProcessView {
    const { version, clock } = this.#primary;
    const { latest } = this.#rules.rates;
    const perSecond = (hits: number, seconds: number) => Math.round((hits / seconds) * 10) / 10;
    return {
      ...this.#process,
      seen: timeText(clock.nowMs()),
      version,
      hits_per_second: latest === null ? null : perSecond(latest.hits, latest.seconds),
      rejected_per_second: latest === null ? null : perSecond(latest.refused, latest.seconds),
      rules_loaded: this.#loaded(),
      rules_digest: this.#rules.digest,
      rules_error: this.#error(),
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
