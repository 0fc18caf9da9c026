import { useState } from 'preact/hooks';
import { Choices } from '../../design/choices.tsx';
import { Field } from '../../design/field.tsx';
import { type Descriptor, descriptorText, readDescriptor } from '../descriptor.ts';
import { useNow } from '../live-state.ts';
import { useChange } from './change-state.ts';
import { putCommands, removeCommands } from './commands.ts';
import { banEffect, overrideEffect, passEffect } from './effect.ts';
import { type Expiry, ExpiryFields, endOf, FIRST_EXPIRY } from './expiry.tsx';
import { ChangeDone, OperatorForm } from './frame.tsx';
import { RECORD_PATHS, type RecordKind, type RecordRequest, type SteeringRecord } from './record.ts';

interface RecordDialogProps {
  readonly kind: RecordKind;
  /** What the fields contain at first. */
  readonly descriptor: Descriptor;
  /** The limit of the rule; absent if it is not known. */
  readonly limit?: number;
  readonly onClose: () => void;
}

const TITLES: Readonly<Record<RecordKind, string>> = {
  override: 'Override a limit',
  ban: 'Ban',
  pass: 'Let pass',
};
const VERBS: Readonly<Record<RecordKind, string>> = { override: 'Override', ban: 'Ban', pass: 'Let pass' };

/** What the user has written so far. */
interface Draft {
  readonly domain: string;
  readonly entries: string;
  /** Whether an override replaces the limit or multiplies it. */
  readonly by: 'limit' | 'factor';
  readonly amount: string;
  readonly expiry: Expiry;
  readonly reason: string;
}

/** Creates an override, a ban or a pass, and tells how to undo it. */
export function RecordDialog({ kind, descriptor, limit, onClose }: RecordDialogProps) {
  const change = useChange<SteeringRecord>();
  const nowMs = useNow();
  const [draft, setDraft] = useState<Draft>({
    domain: descriptor.domain,
    entries: descriptorText(descriptor.entries),
    by: 'limit',
    amount: limit === undefined ? '' : String(limit),
    expiry: FIRST_EXPIRY,
    reason: '',
  });
  const set = (part: Partial<Draft>) => setDraft(was => ({ ...was, ...part }));
  const { request, faults } = requestOf(kind, draft, { nowMs, exact: descriptor });
  const shown = { ...change.faults.fields };
  const submit = () => {
    if (request === null) {
      change.setFaults({ fields: { ...faults, ...requiredReason(draft) }, whole: '' });
      return;
    }
    void change.make({ method: 'PUT', path: `/${RECORD_PATHS[kind]}`, body: request });
  };
  if (change.answer !== null) return <Done record={change.answer} onClose={onClose} />;
  return (
    <OperatorForm
      title={TITLES[kind]}
      change={change}
      effect={request === null ? null : `${effectOf(kind, request)} ${endText(request.until)}`}
      verb={VERBS[kind]}
      isDangerous={kind === 'ban'}
      commands={request === null ? null : putCommands(kind, request)}
      onSubmit={submit}
      onClose={onClose}
    >
      <div class="form-pair">
        <Field label="Domain" {...faultOf(shown['domain'])}>
          <input
            type="text"
            required
            maxLength={256}
            value={draft.domain}
            onInput={event => set({ domain: event.currentTarget.value })}
          />
        </Field>
        <Field
          label="Entries"
          hint="key=value, separated by commas. * in a value stands for any text"
          {...faultOf(shown['entries'])}
        >
          <input
            type="text"
            required
            maxLength={4_096}
            spellcheck={false}
            value={draft.entries}
            onInput={event => set({ entries: event.currentTarget.value })}
          />
        </Field>
      </div>
      {kind === 'override' && <AmountFields draft={draft} set={set} error={shown['amount']} />}
      <ExpiryFields expiry={draft.expiry} error={shown['until']} onChange={expiry => set({ expiry })} />
      <Field label="Reason" hint="For other operators and the log" {...faultOf(shown['reason'])}>
        <input
          type="text"
          required
          maxLength={500}
          value={draft.reason}
          onInput={event => set({ reason: event.currentTarget.value })}
        />
      </Field>
    </OperatorForm>
  );
}

const AMOUNTS = { limit: 'A new limit', factor: 'A factor' } as const;

interface AmountFieldsProps {
  readonly draft: Draft;
  readonly set: (part: Partial<Draft>) => void;
  readonly error: string | undefined;
}

function AmountFields({ draft, set, error }: AmountFieldsProps) {
  const isLimit = draft.by === 'limit';
  return (
    <div class="form-pair">
      <div class="field">
        <span class="field-title">Change it to</span>
        <Choices label="Change it to" options={AMOUNTS} value={draft.by} onChoose={by => set({ by })} />
      </div>
      <Field
        label={isLimit ? 'Requests per window' : 'Factor'}
        hint={isLimit ? 'In the same window as now' : 'Multiplies each limit of the rule, such as 2 or 0.5'}
        {...faultOf(error)}
      >
        <input
          type="number"
          inputMode="decimal"
          min={0}
          step={isLimit ? 1 : 'any'}
          value={draft.amount}
          onInput={event => set({ amount: event.currentTarget.value })}
        />
      </Field>
    </div>
  );
}

function Done({ record, onClose }: { readonly record: SteeringRecord; readonly onClose: () => void }) {
  const undo = useChange<SteeringRecord>();
  const { kind, id, until } = record;
  if (undo.answer !== null) {
    return (
      <ChangeDone title="Undone" undo={null} onClose={onClose}>
        <p>The {kind} was removed. All processes follow within a second.</p>
      </ChangeDone>
    );
  }
  return (
    <ChangeDone
      title="Done"
      undo={removeCommands(kind, id)}
      onUndo={() => void undo.make({ method: 'DELETE', path: `/${RECORD_PATHS[kind]}/${id}` })}
      onClose={onClose}
    >
      <p>
        {effectOf(kind, record)} {endText(until)}
      </p>
      <p class="quiet">All processes that share the store follow within a second.</p>
      {undo.faults.whole !== '' && <p role="alert">{undo.faults.whole}</p>}
    </ChangeDone>
  );
}

/** The request that a draft describes; null with the faults by field if it is not complete. */
function requestOf(
  kind: RecordKind,
  { domain, entries, by, amount, expiry, reason }: Draft,
  { nowMs, exact }: { readonly nowMs: number; readonly exact: Descriptor },
): { readonly request: RecordRequest | null; readonly faults: Readonly<Record<string, string>> } {
  const faults: Record<string, string> = {};
  let read: Descriptor['entries'] = [];
  // A value with a comma can only come from the service, so it stays as it is while the text is not changed.
  if (entries === descriptorText(exact.entries) && entries !== '') read = exact.entries;
  else {
    try {
      read = readDescriptor(entries);
    } catch (fault) {
      faults['entries'] = (fault as Error).message;
    }
  }
  if (domain.trim() === '') faults['domain'] = 'Write the domain of the rule.';
  const number = amount === '' ? Number.NaN : Number(amount);
  if (kind === 'override' && !(number >= 0)) faults['amount'] = 'Write a number.';
  const endMs = endOf(expiry, nowMs);
  if (Number.isNaN(endMs)) faults['until'] = 'Write the day and the time.';
  else if (endMs <= nowMs) faults['until'] = 'This time has passed.';
  if (Object.keys(faults).length > 0) return { request: null, faults };
  const until = new Date(Math.ceil(endMs / 1000) * 1000).toISOString();
  return {
    request: {
      domain: domain.trim(),
      entries: read,
      ...(kind === 'override' && (by === 'limit' ? { requests_per_unit: number } : { factor: number })),
      until,
      reason: reason.trim(),
    },
    faults,
  };
}

function requiredReason({ reason }: Draft): Readonly<Record<string, string>> {
  return reason.trim() === '' ? { reason: 'Write why, for other operators and the log.' } : {};
}

function effectOf(kind: RecordKind, request: RecordRequest): string {
  if (kind === 'override') return overrideEffect(request);
  return kind === 'ban' ? banEffect(request) : passEffect(request);
}

const END = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const ZONE_NAME = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' });

function endText(until: string): string {
  const end = Date.parse(until);
  const zone = ZONE_NAME.formatToParts(end).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return `Ends ${END.format(end)} ${zone}.`;
}

function faultOf(error: string | undefined): { readonly error?: string } {
  return error === undefined ? {} : { error };
}
