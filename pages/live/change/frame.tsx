import type { ComponentChildren, ComponentProps } from 'preact';
import { Button } from '../../design/button.tsx';
import { ChangeForm, type Commands } from '../../design/change-form.tsx';
import { CopyBlock } from '../../design/copy-block.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Field } from '../../design/field.tsx';
import { Forbidden } from '../../design/states.tsx';
import { useLive } from '../live-state.ts';
import type { Change } from './change-state.ts';

interface OperatorFormProps extends Omit<ComponentProps<typeof ChangeForm>, 'isBusy' | 'fault'> {
  readonly change: Change<unknown>;
}

/** The dialog for a change of the operator, with a field for the token. */
export function OperatorForm({ change, children, ...rest }: OperatorFormProps) {
  const { status } = useLive();
  if (status?.admin.changes === 'no_token') return <NoToken title={rest.title} onClose={rest.onClose} />;
  const { faults, isBusy, token } = change;
  return (
    <ChangeForm {...rest} isBusy={isBusy} fault={faults.whole}>
      {children}
      <TokenField token={token} onChange={change.setToken} error={faults.fields['token']} />
    </ChangeForm>
  );
}

interface ChangeDoneProps {
  readonly title: string;
  /** What was changed, in words. */
  readonly children: ComponentChildren;
  /** The commands that reverse the change; null if it cannot be reversed. */
  readonly undo: Commands | null;
  readonly onUndo?: () => void;
  readonly onClose: () => void;
}

/** The dialog after a change: what was done, and how to undo it. */
export function ChangeDone({ title, children, undo, onUndo, onClose }: ChangeDoneProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="effect" role="status">
        {children}
      </div>
      {undo !== null && (
        <>
          {undo.sluice !== null && <CopyBlock label="Undo on the command line" text={undo.sluice} />}
          <CopyBlock label="Undo with curl" text={undo.curl} />
        </>
      )}
      <div class="actions">
        {onUndo !== undefined && <Button onClick={onUndo}>Undo now</Button>}
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

interface TokenFieldProps {
  readonly token: string;
  readonly error: string | undefined;
  readonly onChange: (token: string) => void;
}

function TokenField({ token, error, onChange }: TokenFieldProps) {
  return (
    <Field
      label="Operator's token"
      hint="The value of ADMIN_TOKEN. This tab keeps it until it is closed."
      {...(error !== undefined && { error })}
    >
      <input
        type="password"
        autocomplete="off"
        maxLength={512}
        required
        value={token}
        onInput={event => onChange(event.currentTarget.value.trim())}
      />
    </Field>
  );
}

function NoToken({ title, onClose }: { readonly title: string; readonly onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Forbidden what="Changes are disabled, because no token is configured">
        Set <code>ADMIN_TOKEN</code> or <code>ADMIN_TOKEN_FILE</code> for this process and start it again.{' '}
        <code>openssl rand -hex 32</code> makes a token.
      </Forbidden>
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
