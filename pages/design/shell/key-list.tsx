import { Dialog } from '../dialog.tsx';
import { activeShortcuts } from '../shortcuts.ts';

/** Keys of the browser that matter here, beside those of the page. */
const BROWSER_KEYS: readonly (readonly [string, string])[] = [
  ['Enter', 'Open the current row'],
  ['Esc', 'Close a dialog, leave the search'],
];

/** A dialog with all keys that do something now. */
export function KeyList({ onClose }: { readonly onClose: () => void }) {
  const keys = [...activeShortcuts(), ...BROWSER_KEYS];
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="key-list">
        {keys.map(([key, help]) => (
          <div key={key} class="fact">
            <dt>
              <kbd class="key">{key}</kbd>
            </dt>
            <dd>{help}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
