import type { ComponentChildren } from 'preact';
import { Sparkline } from '../design/plots/sparkline.tsx';

interface WithSparkProps {
  /** Absent or null if the service does not keep them. */
  readonly values: readonly number[] | null | undefined;
  readonly label: string;
  readonly kind?: 'plain' | 'rejected';
  readonly children: ComponentChildren;
}

/** A figure of a table, with its last minutes beside it where there is room. */
export function WithSpark({ values, label, kind = 'plain', children }: WithSparkProps) {
  return (
    <span class="with-spark">
      {values && (
        <span class="hides-medium">
          <Sparkline values={values} label={label} kind={kind} />
        </span>
      )}
      <span class="with-spark-value">{children}</span>
    </span>
  );
}
