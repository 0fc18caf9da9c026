import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Change } from '../../change/change-state.ts';
import { tenantCommands } from '../../change/commands.ts';
import { OperatorForm } from '../../change/frame.tsx';
import { NO_REASON, ReasonField } from '../../change/reason-field.tsx';

interface TenantFormProps {
  readonly title: string;
  readonly verb: string;
  readonly effect: string;
  readonly isDangerous?: boolean;
  readonly domain: string;
  /** The last part of the path: `suspend`. */
  readonly action: string;
  /** POST if absent. */
  readonly method?: 'PUT';
  /** The body, without the reason. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The command of `sluice tenants`; null if there is none. */
  readonly command: readonly string[] | null;
  readonly change: Change<unknown>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** The form for a change of a tenant, which needs a reason and the operator's token. */
export function TenantForm(props: TenantFormProps) {
  const { domain, action, method = 'POST', body = {}, command, change, children } = props;
  const [text, setReason] = useState('');
  const reason = text.trim();
  const call = { method, path: `/tenants/${domain}/${action}`, body: { ...body, reason } } as const;
  const submit = () => {
    if (reason === '') change.setFaults(NO_REASON);
    else void change.make(call);
  };
  return (
    <OperatorForm
      title={props.title}
      change={change}
      effect={props.effect}
      verb={props.verb}
      isDangerous={props.isDangerous === true}
      commands={tenantCommands(command, call)}
      onSubmit={submit}
      onClose={props.onClose}
    >
      {children}
      <ReasonField
        reason={text}
        hint="For other operators and the log. The tenant does not see it."
        error={change.faults.fields['reason']}
        onChange={setReason}
      />
    </OperatorForm>
  );
}
