import { useMemo } from 'preact/hooks';
import { Failure, Skeleton } from '../design/states.tsx';
import { callService } from '../service/call.ts';
import { usePolledAnswer } from '../service/polled.ts';
import { ContentsContext, contentsOf } from './contents.ts';
import type { OpenApi } from './openapi.ts';
import { Shell } from './shell.tsx';

/** What the page is made from. */
const DOCUMENT = '/api/v1/openapi.json';

/** The documentation of the REST interface for tasks. */
export function Docs() {
  const { answer, error, reload } = usePolledAnswer<OpenApi>(DOCUMENT, 0, signal =>
    callService<OpenApi>(DOCUMENT, { signal }),
  );
  const contents = useMemo(() => (answer === null ? null : contentsOf(answer)), [answer]);
  if (contents !== null) {
    return (
      <ContentsContext.Provider value={contents}>
        <Shell />
      </ContentsContext.Provider>
    );
  }
  return <main>{error === null ? <Skeleton lines={12} /> : <Failure error={error} onRetry={reload} />}</main>;
}
