import { useState } from 'preact/hooks';
import { Field } from '../../../design/field.tsx';
import { useChange } from '../../change/change-state.ts';
import { ChangeDone } from '../../change/frame.tsx';
import type { TenantDetails } from '../tenants/tenant.ts';
import { TenantForm } from './tenant-form.tsx';

interface LimitDialogProps {
  readonly tenant: TenantDetails;
  /** The name of the limit. */
  readonly limit: string;
  readonly onClose: () => void;
}

/** Changes a limit of a tenant, or restores its default. */
export function LimitDialog({
  tenant: { domain, limits, changed_limits },
  limit,
  onClose,
}: LimitDialogProps) {
  const change = useChange<TenantDetails>();
  // The value at the beginning: the page learns of the change while the dialog still shows it.
  const [before] = useState(limits[limit]);
  const [text, setText] = useState(String(before));
  if (change.answer !== null) {
    return (
      <ChangeDone title="Done" undo={null} onClose={onClose}>
        <p>
          {limit} of {domain} is {change.answer.limits[limit]}. Before: {before}.
        </p>
      </ChangeDone>
    );
  }
  const given = text.trim();
  // A text that is no number goes as it is, and the service says what is wrong. JSON has neither `NaN` nor `Infinity`:
  // they would become null, which restores the default.
  const isNumber = typeof before === 'number' && Number.isFinite(Number(given));
  const value = given === '' ? null : isNumber ? Number(given) : given;
  const error = change.faults.fields['limits'];
  return (
    <TenantForm
      title={`Limit ${limit} of ${domain}`}
      verb="Change this limit"
      effect={
        value === null
          ? `Restores the default of ${limit}. Now it is ${before}.`
          : `Changes ${limit} from ${before} to ${given}. What the tenant already has stays, also if it is more.`
      }
      domain={domain}
      action="limits"
      method="PUT"
      body={{ limits: { [limit]: value } }}
      command={null}
      change={change}
      onClose={onClose}
    >
      <Field
        label="Limit"
        hint={`If it is empty, the default applies${changed_limits.includes(limit) ? '' : ', as now'}.`}
        {...(error !== undefined && { error })}
      >
        <input
          type="text"
          inputMode={typeof before === 'number' ? 'numeric' : 'text'}
          maxLength={64}
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
      </Field>
    </TenantForm>
  );
}
