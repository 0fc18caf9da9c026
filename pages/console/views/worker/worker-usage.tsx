import { Link } from '../../../design/route.ts';
import { usePolled } from '../../polled.ts';
import { useAllowed } from '../../session.ts';
import { type Usage, usagePath } from '../usage/usage.ts';
import { UsageTiles } from '../usage/usage-tiles.tsx';

/** What the worker has done in the last hour. Nothing for those who may not see tasks, and while it is not known. */
export function WorkerUsage({ id }: { readonly id: string }) {
  const maySee = useAllowed('tasks:read');
  const { answer } = usePolled<Usage>(maySee ? usagePath('1h', id) : null, { everyMs: 5_000 });
  if (answer === null) return null;
  return (
    <section class="stack" aria-label="Last hour">
      <UsageTiles usage={answer} />
      <p>
        <Link query={{ view: 'usage', worker: id }}>Show the last hour as plots</Link>
      </p>
    </section>
  );
}
