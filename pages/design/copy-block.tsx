import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';

/** How long the button says that the text was copied. */
const COPIED_MS = 2_000;

interface CopyBlockProps {
  readonly text: string;
  /** What the text is: `Command line`. */
  readonly label: string;
}

/** A text to copy, such as a command, with a button that copies it. */
export function CopyBlock({ text, label }: CopyBlockProps) {
  const [copied, setCopied] = useState(false);
  const code = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // Browsers allow writing to the clipboard only on HTTPS and localhost. Elsewhere the user presses Ctrl-C.
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
    }
  };
  return (
    <figure class="copy-block">
      <figcaption>
        <span>{label}</span>
        <Button kind="quiet" size="small" onClick={() => void copy()}>
          <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
        </Button>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line scrolls, also by keyboard */}
      <pre tabIndex={0}>
        <code ref={code}>{text}</code>
      </pre>
    </figure>
  );
}
