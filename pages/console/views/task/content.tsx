import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { CopyBlock } from '../../../design/copy-block.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Forbidden } from '../../../design/states.tsx';
import { prettyJson } from '../../exact-json.ts';
import { useAllowed } from '../../session.ts';
import type { WholeTask } from './whole-task.ts';

/** Longer texts are shown in part, because the browser would take long to lay them out. */
const SHOWN = 20_000;

/** What the worker receives, and what it has answered. */
export function Content({ task }: { readonly task: WholeTask }) {
  const maySee = useAllowed('tasks:payload');
  if (!maySee) {
    return (
      <Panel title="Payload">
        <Forbidden what="Payloads are hidden from you">
          They need the role member and, for a token with scopes, the scope <code>tasks:payload</code>.
        </Forbidden>
      </Panel>
    );
  }
  const headers = Object.entries(task.headers ?? {});
  return (
    <>
      <Panel title="Payload" {...(task.content_type && { note: task.content_type })}>
        <LongText
          label={task.payload_base64 === undefined ? 'JSON' : 'Base64'}
          text={task.payload_base64 ?? prettyJson(task.payload ?? null)}
        />
        {(task.url || headers.length > 0) && (
          <LongText
            label="Sent with"
            text={[task.url ?? '', ...headers.map(([name, value]) => `${name}: ${value}`)]
              .filter(Boolean)
              .join('\n')}
          />
        )}
      </Panel>
      {task.result !== undefined && task.result !== null && (
        <Panel title="Result">
          <LongText label="JSON" text={prettyJson(task.result)} />
        </Panel>
      )}
    </>
  );
}

function LongText({ label, text }: { readonly label: string; readonly text: string }) {
  const [isWhole, showWhole] = useState(false);
  if (isWhole || text.length <= SHOWN) return <CopyBlock label={label} text={text} />;
  return (
    <>
      <CopyBlock label={`${label}, the beginning`} text={text.slice(0, SHOWN)} />
      <Button onClick={() => showWhole(true)}>Show all {formatCount(text.length)} characters</Button>
    </>
  );
}
