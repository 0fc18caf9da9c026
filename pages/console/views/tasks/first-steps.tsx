import { CopyBlock } from '../../../design/copy-block.tsx';
import { Empty } from '../../../design/states.tsx';

/** For an account without tasks: the calls that create the first worker and the first task, and see it done. */
export function FirstSteps() {
  const at = `${location.origin}/api/v1`;
  const auth = `-H "Authorization: Bearer $SLUICE_TOKEN" -H 'Content-Type: application/json'`;
  return (
    <div class="first-steps">
      <Empty title="There are no tasks yet">
        A program creates tasks with one HTTP call. These four create a worker and a task, and take and
        complete the task as the worker would. Set <code>SLUICE_TOKEN</code> to your token first.
      </Empty>
      <CopyBlock
        label="1. Create a worker that asks for its tasks"
        text={`curl ${at}/workers \\\n  ${auth} \\\n  -d '{"name":"mailer","mode":"pull"}'`}
      />
      <CopyBlock
        label="2. Create a task"
        text={`curl ${at}/tasks \\\n  ${auth} \\\n  -d '{"worker":"mailer","payload":{"to":"ann@example.com"}}'`}
      />
      <CopyBlock
        label="3. Take the task"
        text={`curl ${at}/workers/mailer/leases \\\n  ${auth} \\\n  -d '{"max":1,"wait":"10s"}'`}
      />
      <CopyBlock
        label="4. Complete it within a minute, with the lease_id of the answer as LEASE_ID"
        text={`curl "${at}/leases/$LEASE_ID/complete" \\\n  ${auth} \\\n  -d '{"result":{"sent":true}}'`}
      />
    </div>
  );
}
