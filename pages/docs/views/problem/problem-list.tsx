import { Panel } from '../../../design/panel.tsx';
import { useContents } from '../../contents.ts';
import { Marked } from '../../marked.tsx';
import { ProblemTable } from '../operation/problem-table.tsx';

/** All problem codes. */
export function ProblemList() {
  const { problems } = useContents();
  return (
    <>
      <h1>What does an error mean?</h1>
      <Marked text="Every response with a status from 400 is a problem (RFC 9457). Programs should compare its `code`; `detail` says what is wrong with the request at hand, and `instance` is the id of the request in the log of the service. New codes may be added." />
      <Panel title="Problem codes" note={problems.length} flush>
        <ProblemTable codes={problems.map(({ code }) => code)} />
      </Panel>
    </>
  );
}
