import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { CopyBlock } from './copy-block.tsx';
import { Dialog } from './dialog.tsx';

interface ShownOnceProps {
  /** What to do: `Copy the token now`. */
  readonly title: string;
  /** What the value is: `Token`. */
  readonly label: string;
  readonly value: string;
  readonly onClose: () => void;
  /** What to do with it. */
  readonly children?: ComponentChildren;
}

/** The dialog with a confidential value that the service does not show again. */
export function ShownOnce({ title, label, value, onClose, children }: ShownOnceProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>It is shown only here. Nobody can read it again.</p>
      <CopyBlock label={label} text={value} />
      {children}
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}
