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

/** How long earlier secrets are used beside a new one, as histories ask for it. */
const GRACES: Readonly<Record<string, number>> = { '0s': 0, '2s': 2_000, '8s': 8_000, '1h': 3_600_000 };

function isSame(one: Secret, other: Secret): boolean {
  return one.workerId === other.workerId && one.type === other.type && one.name === other.name;
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
    this.#overlaps();
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

  /** A new secret lets those before it be used for as long as its caller said. */
  #overlaps(): void {
    const { documents, ledger, report } = this.#parts;
    for (const { step, answer } of ledger.calls) {
      const graceMs = GRACES[String(step.body?.['expire_previous_in'])];
      if (answer?.status !== 201 || graceMs === undefined) continue;
      const [{ since, body }] = documents.versions(step.tenant, 'secret', answer.json.id);
      const untilMs = body!.createdAt + graceMs;
      for (const { tenant, id } of documents.all('secret')) {
        if (tenant !== step.tenant || id >= answer.json.id) continue;
        const versions = documents.versions(tenant, 'secret', id);
        const [before, after] = [
          versions.findLast(version => version.since < since)?.body,
          versions.findLast(version => version.since <= since)?.body,
        ];
        if (before == null || after == null || !isSame(before, body!)) continue;
        const expected = Math.min(untilMs, before.expiresAt ?? untilMs);
        if (after.expiresAt !== expected)
          report('secrets are kept', `${id} may be used until ${after.expiresAt}, and not until ${expected}`);
      }
    }
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
