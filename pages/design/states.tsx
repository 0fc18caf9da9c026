import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';

/** In place of content that is still loading. `lines` is about the number of lines that will be there. */
export function Skeleton({ lines }: { readonly lines: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} class="skeleton-line" />
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  /** What belongs here, and the command that fills it. */
  readonly children?: ComponentChildren;
}

/** In place of a list without entries. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children !== undefined && <div class="state-help">{children}</div>}
    </div>
  );
}

interface FailureProps {
  readonly error: Error;
  readonly onRetry?: () => void;
}

/** In place of content that could not be loaded. */
export function Failure({ error, onRetry }: FailureProps) {
  return (
    <div class="state state-failed" role="alert">
      <p class="state-title">This could not be loaded</p>
      <p class="state-help">{error.message}</p>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

interface ForbiddenProps {
  /** What is not allowed: `Changes need the operator's token`. */
  readonly what: string;
  /** How to get permission. */
  readonly children?: ComponentChildren;
}

/** In place of something that the service does not allow. */
export function Forbidden({ what, children }: ForbiddenProps) {
  return (
    <div class="state state-forbidden">
      <p class="state-title">{what}</p>
      {children !== undefined && <div class="state-help">{children}</div>}
    </div>
  );
}
