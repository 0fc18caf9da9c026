import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { CopyBlock } from '../../../design/copy-block.tsx';
import { formatMs } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { useAction } from '../../change/action.ts';
import { useCall } from '../../session.ts';
import type { Worker } from '../workers/worker.ts';

/** Answer of `POST /api/v1/workers/:id/test`. */
interface TestAnswer {
  readonly outcome: string;
  readonly duration_ms: number;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  } | null;
  readonly response: { readonly status: number; readonly body: string; readonly truncated: boolean } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const MEANINGS: Readonly<Record<string, string>> = {
  succeeded: 'A task with this answer has succeeded.',
  attempt_failed: 'A task with this answer is retried.',
  timed_out: 'A task without an answer in time is retried.',
  deferred: 'A task with this answer is postponed, without counting an attempt.',
  no_retry: 'A task with this answer has failed, without further attempts.',
};

/** Sends one signed request to the worker and shows what was sent and answered. Nothing is stored. */
export function TestPanel({ worker }: { readonly worker: Worker }) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [answer, setAnswer] = useState<TestAnswer | null>(null);
  const test = () =>
    make(async () =>
      setAnswer(
        await call<TestAnswer>(`/workers/${worker.id}/test`, {
          method: 'POST',
          body: { payload: { test: true } },
        }),
      ),
    );
  return (
    <Panel
      title="Test delivery"
      actions={
        <Button onClick={() => void test()} disabled={isBusy || worker.task_urls}>
          {isBusy ? 'Sending…' : 'Send a test'}
        </Button>
      }
    >
      <div class="stack" aria-live="polite">
        {answer === null && (
          <p class="quiet">
            {worker.task_urls
              ? 'Each task of this worker names its own URL. Test one with POST /api/v1/workers/:id/test.'
              : `Sends {"test":true} to ${worker.url}, signed as a task is. It counts as no task.`}
          </p>
        )}
        {faults.whole !== '' && <p class="fault">{faults.whole}</p>}
        {answer !== null && <TestResult answer={answer} />}
      </div>
    </Panel>
  );
}

function TestResult({
  answer: { outcome, duration_ms: ms, request, response, error },
}: {
  readonly answer: TestAnswer;
}) {
  const isGood = outcome === 'succeeded';
  return (
    <>
      <p>
        <Chip kind={isGood ? 'allowed' : 'rejected'}>
          {response === null ? outcome : `HTTP ${response.status}`}
        </Chip>{' '}
        in {formatMs(ms)}. {MEANINGS[outcome] ?? outcome}
      </p>
      {error !== null && (
        <p class="timeline-error">
          <code>{error.code}</code> {error.message}
        </p>
      )}
      {request !== null && (
        <CopyBlock
          label="Request"
          text={[
            `${request.method} ${request.url}`,
            ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
            '',
            request.body ?? '',
          ].join('\n')}
        />
      )}
      {response !== null && response.body !== '' && (
        <CopyBlock label={response.truncated ? 'Answer, the beginning' : 'Answer'} text={response.body} />
      )}
    </>
  );
}
