import type { Clock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { formatDuration, formatTime } from '../../tasks/model/time.ts';
import type { CopyCounts } from '../../tasks/move/copy-tenants.ts';
import type { TenantDigest } from '../../tasks/move/digest.ts';
import type { MoveObserver, MoveResult } from '../../tasks/move/move.ts';
import type { CliIo } from '../terminal/io.ts';
import { rateText } from '../terminal/rate-text.ts';
import { printJson } from './tasks-command.ts';

/** Interval of lines about the progress. */
const PROGRESS_MS = 2_000;

/** Prints how far a move is: lines for people on standard error, or lines of JSON on standard output. */
export class MoveReport implements MoveObserver {
  readonly #io: CliIo;
  readonly #stores: { readonly from: string; readonly to: string };
  readonly #asJson: boolean;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #startMs: number;
  #total: CopyCounts = { tenants: 0, tasks: 0 };
  #stage: 'copy' | 'check' | null = null;
  /** When the stage began, and how many tasks were done then. */
  #stageBegan = { atMs: 0, tasks: 0 };
  #printedMs = 0;
  readonly #sums = { tenants: 0, documents: 0, tasks: 0, history_entries: 0 };

  constructor(
    io: CliIo,
    stores: { readonly from: string; readonly to: string },
    asJson: boolean,
    clock: Pick<Clock, 'nowMs'>,
  ) {
    this.#io = io;
    this.#stores = stores;
    this.#asJson = asJson;
    this.#clock = clock;
    this.#startMs = clock.nowMs();
  }

  began(total: CopyCounts, since: number | null): void {
    this.#total = total;
    const { from, to } = this.#stores;
    if (this.#asJson) {
      const resumed = since === null ? null : formatTime(since);
      printJson({ event: 'began', from, to, ...total, resumed_from: resumed }, this.#io);
      return;
    }
    const goesOn = since === null ? '' : `, going on with the move of ${formatTime(since)}`;
    this.#line(`Moving ${countsText(total)} from ${from} to ${to}${goesOn}`);
  }

  advanced(stage: 'copy' | 'check', done: CopyCounts): void {
    const nowMs = this.#clock.nowMs();
    if (stage !== this.#stage) {
      this.#stage = stage;
      this.#stageBegan = { atMs: nowMs, tasks: done.tasks };
    } else if (nowMs - this.#printedMs < PROGRESS_MS) return;
    this.#printedMs = nowMs;
    const rate = ((done.tasks - this.#stageBegan.tasks) * 1_000) / Math.max(1, nowMs - this.#stageBegan.atMs);
    if (this.#asJson) {
      const counts = { ...done, total_tenants: this.#total.tenants, total_tasks: this.#total.tasks };
      printJson({ event: 'progress', stage, ...counts, tasks_per_second: Math.round(rate) }, this.#io);
      return;
    }
    const word = stage === 'copy' ? 'Copied' : 'Compared';
    const share = this.#total.tasks === 0 ? 100 : Math.floor((100 * done.tasks) / this.#total.tasks);
    this.#line(`${word} ${countsText(done)} (${share}%, ${rateText(rate)} tasks per second)`);
  }

  checked(tenant: string, digest: TenantDigest): void {
    const counts = {
      documents: digest.count('document'),
      tasks: digest.count('task'),
      history_entries: digest.entries,
      usage_records: digest.count('usage'),
      idempotency_records: digest.count('answer'),
    };
    this.#sums.tenants++;
    this.#sums.documents += counts.documents;
    this.#sums.tasks += counts.tasks;
    this.#sums.history_entries += counts.history_entries;
    const { hash } = digest;
    if (this.#asJson) printJson({ event: 'tenant', tenant, ...counts, hash }, this.#io);
    else {
      const texts = Object.entries(counts).map(([name, count]) => `${count} ${name.replace('_', ' ')}`);
      this.#io.stdout(`${printable(tenant)}  ${hash}  ${texts.join(', ')}\n`);
    }
  }

  ended(result: MoveResult): void {
    const tookMs = this.#clock.nowMs() - this.#startMs;
    if (this.#asJson) {
      printJson(
        { event: 'ended', result: result.kind, ...this.#sums, took_ms: tookMs, ...resultFields(result) },
        this.#io,
      );
      return;
    }
    const { from, to } = this.#stores;
    switch (result.kind) {
      case 'moved':
        this.#line(
          `Everything was moved and is the same in both stores (${formatDuration(inSeconds(tookMs))}).`,
        );
        this.#line(
          `Let TASKS_STORE and its address name ${to}. The service does not start on ${from} any more.`,
        );
        break;
      case 'moved_before':
        this.#line(`${from} was moved to ${to} at ${formatTime(result.at)}. There is nothing to do.`);
        break;
      case 'used':
        this.#line(
          `A process of the service has used ${from} meanwhile, so that it is still the one to use. Stop all of them, ` +
            `empty ${to}, and run the command again.`,
        );
        break;
      case 'differs':
        for (const { tenant, text } of result.differences)
          this.#line(tenant === '' ? text : `${tenant}: ${text}`);
        this.#line(
          `The stores differ, so that ${from} is still the one to use. Something has written to them meanwhile: stop ` +
            `the service, empty ${to}, and run the command again.`,
        );
    }
  }

  #line(text: string): void {
    this.#io.stderr(`${printable(text)}\n`);
  }
}

function resultFields(result: MoveResult): object {
  if (result.kind === 'moved_before') return { at: formatTime(result.at) };
  return result.kind === 'differs' ? { differences: result.differences } : {};
}

/** Whole seconds, and 0 only for nothing. */
function inSeconds(ms: number): number {
  return Math.ceil(ms / 1_000) * 1_000;
}

function countsText({ tenants, tasks }: CopyCounts): string {
  return `${tenants} ${tenants === 1 ? 'tenant' : 'tenants'}, ${tasks} ${tasks === 1 ? 'task' : 'tasks'}`;
}
