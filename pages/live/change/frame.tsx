import type { ComponentChildren } from 'preact';
import { Button } from '../../design/button.tsx';
import { CopyBlock } from '../../design/copy-block.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Field } from '../../design/field.tsx';
import { Forbidden } from '../../design/states.tsx';
import { useLive } from '../live-state.ts';
import type { Change } from './change-state.ts';
import type { Commands } from './commands.ts';

interface ChangeFormProps {
  readonly title: string;
  readonly change: Change<unknown>;
  /** What the change does, in words; null while the form is not complete. */
  readonly effect: string | null;
  /** The text of the button that makes the change. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** The same change as commands; null while the form is not complete. */
  readonly commands: Commands | null;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  /** The fields of the change, except the token. */
  readonly children: ComponentChildren;
}

/** The dialog for a change: its fields, its effect in words, and the commands that make the same change. */
export function ChangeForm(props: ChangeFormProps) {
  const { title, change, effect, verb, isDangerous = false, commands, onSubmit, onClose, children } = props;
  const { status } = useLive();
  if (status?.admin.changes === 'no_token') return <NoToken title={title} onClose={onClose} />;
  const { faults, isBusy, token } = change;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={event => {
          event.preventDefault();
          if (!isBusy) onSubmit();
        }}
      >
        {children}
        <TokenField token={token} onChange={change.setToken} error={faults.fields['token']} />
        <p class="effect" aria-live="polite">
          {effect ?? 'Fill in the fields to see what will happen.'}
        </p>
        {faults.whole !== '' && (
          <p class="fault" role="alert">
            {faults.whole}
          </p>
        )}
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind={isDangerous ? 'danger' : 'primary'} type="submit" disabled={isBusy}>
            {isBusy ? 'Working…' : verb}
          </Button>
        </div>
        {commands !== null && <SameAs commands={commands} />}
      </form>
    </Dialog>
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
          <CopyBlock label="Undo on the command line" text={undo.sluice} />
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

function SameAs({ commands }: { readonly commands: Commands }) {
  return (
    <details class="same-as">
      <summary>Do the same on the command line</summary>
      <CopyBlock label="sluice" text={commands.sluice} />
      <CopyBlock label="curl" text={commands.curl} />
    </details>
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
