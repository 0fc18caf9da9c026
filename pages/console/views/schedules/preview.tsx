import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '../../../service/call.ts';
import { useCall } from '../../session.ts';
import { ownZone, timeIn } from './schedule.ts';

/** Answer of `POST /api/v1/schedules/preview`. */
interface PreviewAnswer {
  readonly timezone: string;
  readonly times: readonly { readonly at: string; readonly local: string; readonly note: string | null }[];
}

/** The fields that decide when a schedule runs. */
export interface Timing {
  readonly cron?: string;
  readonly every?: string;
  readonly timezone: string;
}

/** Waits this long after the last key, so that not every letter is asked about. */
const TYPING_MS = 300;

const NOTES: Readonly<Record<string, string>> = {
  moved_by_dst: 'moved, because the clocks skip this hour',
  first_of_two: 'the first of two, because the clocks repeat this hour',
  second_of_two: 'the second of two, because the clocks repeat this hour',
  previous_skipped_by_dst: 'the run before is left out, because the clocks skip its hour',
};

/** The next times of a schedule, in its zone and in that of the viewer, as the service computes them. */
export function Preview({ timing }: { readonly timing: Timing }) {
  const call = useCall();
  const [state, setState] = useState<{ readonly answer: PreviewAnswer | null; readonly fault: string }>({
    answer: null,
    fault: '',
  });
  const asked = JSON.stringify({ ...timing, count: 5 });
  useEffect(() => {
    const end = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const answer = await call<PreviewAnswer>('/schedules/preview', {
          method: 'POST',
          text: asked,
          signal: end.signal,
        });
        setState({ answer, fault: '' });
      } catch (thrown) {
        const { errors = [], message } = thrown as ApiError;
        if (!end.signal.aborted)
          setState({ answer: null, fault: errors.map(each => each.detail).join(' ') || message });
      }
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [asked]);
  const { answer, fault } = state;
  return (
    <div class="preview" aria-live="polite">
      {fault !== '' && <p class="fault">{fault}</p>}
      {answer !== null && <RunTimes timezone={answer.timezone} runs={answer.times} />}
    </div>
  );
}

interface RunTimesProps {
  readonly timezone: string;
  readonly runs: readonly { readonly at: string; readonly note?: string | null }[];
}

/** Times in the zone of the schedule, and beside them in that of the viewer if it is another. */
export function RunTimes({ timezone, runs }: RunTimesProps) {
  const own = ownZone();
  if (runs.length === 0) return <p class="quiet">It does not run any more.</p>;
  return (
    <ol class="run-times">
      {runs.map(({ at, note }) => (
        <li key={at}>
          <time dateTime={at} title={at}>
            {timeIn(at, timezone)}
          </time>
          {own !== timezone && <span class="quiet"> {timeIn(at, own)}</span>}
          {note && <span class="quiet"> ({NOTES[note] ?? note})</span>}
        </li>
      ))}
    </ol>
  );
}
