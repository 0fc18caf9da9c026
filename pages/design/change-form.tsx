import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { CopyBlock } from './copy-block.tsx';
import { Dialog } from './dialog.tsx';

/** A change as a command of `sluice` and as a call of the API. */
export interface Commands {
  /** Null if there is no such command. */
  readonly sluice: string | null;
  readonly curl: string;
}

interface ChangeFormProps {
  readonly title: string;
  /** What the change does, in words; null while the form is not complete. */
  readonly effect: ComponentChildren | null;
  /** The text of the button that makes the change. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly isBusy: boolean;
  /** Whether the form cannot be sent yet. */
  readonly isIncomplete?: boolean;
  /** What is wrong with the change as a whole; empty if nothing is. */
  readonly fault: string;
  /** The same change as commands; null while the form is not complete, or if there are none. */
  readonly commands: Commands | null;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  /** The fields of the change. */
  readonly children?: ComponentChildren;
}

/** The dialog for a change: its fields, its effect in words, and the commands that make the same change. */
export function ChangeForm(props: ChangeFormProps) {
  const { title, effect, verb, isDangerous = false, isBusy, isIncomplete = false, fault, commands } = props;
  return (
    <Dialog title={title} onClose={props.onClose}>
      <form
        class="form"
        onSubmit={event => {
          event.preventDefault();
          if (!isBusy && !isIncomplete) props.onSubmit();
        }}
      >
        {props.children}
        <p class="effect" aria-live="polite">
          {effect ?? 'Fill in the fields to see what will happen.'}
        </p>
        {fault !== '' && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <div class="actions">
          <Button onClick={props.onClose}>Cancel</Button>
          <Button kind={isDangerous ? 'danger' : 'primary'} type="submit" disabled={isBusy || isIncomplete}>
            {isBusy ? 'Working…' : verb}
          </Button>
        </div>
        {commands !== null && <SameAs commands={commands} />}
      </form>
    </Dialog>
  );
}

/** Commands that do the same as the form, out of the way until somebody wants them. */
export function SameAs({ commands }: { readonly commands: Commands }) {
  return (
    <details class="same-as">
      <summary>Do the same on the command line</summary>
      {commands.sluice !== null && <CopyBlock label="sluice" text={commands.sluice} />}
      <CopyBlock label="curl" text={commands.curl} />
    </details>
  );
}
