import type { Secret } from '../../../src/tasks/model/documents.ts';
import type { Ledger } from '../world/ledger.ts';
import type { Arrival } from '../world/receivers.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

interface SecretParts {
  readonly documents: KnownDocuments;
  readonly ledger: Ledger;
  /** How old what a process knows of a secret may be at this time. */
  readonly staleMs: (atMs: number) => number;
  readonly report: Report;
}

/** A secret as it may have been when a push was made. */
interface Known {
  readonly id: string;
  readonly value: string;
  readonly type: Secret['type'];
  readonly name: string;
  /** It surely was to be used, or it surely was not. */
  readonly isLive: boolean;
  readonly isOver: boolean;
}

/** Compares the secrets of pushes with those that their workers had. */
export class SecretChecks {
  readonly #parts: SecretParts;
  /** By tenant and task. */
  readonly #workers = new Map<string, string>();

  constructor(parts: SecretParts) {
    this.#parts = parts;
  }

  heard({ tenant, after, by }: TaskChanged): void {
    if (by === 'created' && after !== null) this.#workers.set(`${tenant}\n${after.id}`, after.workerId);
  }

  finish(arrivals: readonly Arrival[]): void {
    const values = this.#values();
    if (values.size === 0) return;
    const ofWorkers = new Map<string, string[]>();
    for (const { tenant, id } of this.#parts.documents.all('secret')) {
      const workerId = this.#parts.documents.versions(tenant, 'secret', id)[0].body?.workerId;
      const name = `${tenant}\n${workerId}`;
      if (values.has(id)) ofWorkers.set(name, [...(ofWorkers.get(name) ?? []), id]);
    }
    for (const arrival of arrivals) {
      const { tenant, taskId } = arrival;
      const ids = ofWorkers.get(`${tenant}\n${this.#workers.get(`${tenant}\n${taskId}`)}`) ?? [];
      this.#push(
        arrival,
        ids.map(id => this.#known(arrival, id, values.get(id)!)),
      );
    }
  }

  /** By id: what the caller has chosen. */
  #values(): ReadonlyMap<string, string> {
    const values = new Map<string, string>();
    for (const { step, answer } of this.#parts.ledger.calls) {
      const value = step.body?.['value'];
      if (answer?.status === 201 && step.path.endsWith('/secrets') && typeof value === 'string')
        values.set(answer.json.id, value);
    }
    return values;
  }

  #known({ tenant, atMs, storeMs }: Arrival, id: string, value: string): Known {
    const { documents, staleMs } = this.#parts;
    const stale = staleMs(atMs);
    const versions = documents.between(tenant, 'secret', id, atMs - stale, atMs);
    const last = versions.findLast(body => body !== null);
    const lasts = (body: Secret | null, ms: number) =>
      body !== null && (body.expiresAt === null || body.expiresAt > ms);
    return {
      ...{ id, value, type: last?.type ?? 'signing', name: last?.name ?? '' },
      isLive: versions.every(body => lasts(body, storeMs + stale)),
      isOver: versions.every(body => !lasts(body, storeMs - stale)),
    };
  }

  #push({ taskId, atMs, signing, secretHeaders }: Arrival, secrets: readonly Known[]): void {
    const report = (text: string) =>
      this.#parts.report('secrets are kept', `the push of ${taskId} at ${atMs} ${text}`);
    for (const { id, value, type, name, isLive, isOver } of secrets) {
      const isUsed = type === 'signing' ? signing.includes(value) : secretHeaders[name] === value;
      if (isUsed && isOver) report(`has the ${type} secret ${id}, which is over`);
      if (isLive && type === 'signing' && !isUsed) report(`is not signed with ${id}`);
      if (isLive && type === 'header' && secretHeaders[name] === undefined) report(`has no header ${name}`);
      // Of headers with one name the newest counts.
      const newer = secrets.find(other => other.isLive && other.name === name && other.id > id);
      if (type === 'header' && isUsed && newer !== undefined)
        report(`has the header ${name} of ${id}, and that of ${newer.id} is newer`);
    }
  }
}
