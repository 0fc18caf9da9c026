import { formatCount } from '../../../design/format.ts';
import { useChange } from '../../change/change-state.ts';
import { tenantCommands } from '../../change/commands.ts';
import { ChangeDone } from '../../change/frame.tsx';
import { openTasks, type TenantDetails } from '../tenants/tenant.ts';
import { dueText } from '../tenants/tenant-columns.tsx';
import { TenantForm } from './tenant-form.tsx';

interface StatusDialogProps {
  readonly tenant: TenantDetails;
  readonly onClose: () => void;
}

/** Suspends a tenant, or resumes one that is suspended. */
export function StatusDialog({ tenant, onClose }: StatusDialogProps) {
  const change = useChange<TenantDetails>();
  const { domain } = tenant;
  // After the change, the page has the other status.
  const isNowSuspended = change.answer?.status === 'suspended';
  if (change.answer !== null) {
    const reverse = isNowSuspended ? 'resume' : 'suspend';
    const undo = tenantCommands([reverse, domain], {
      method: 'POST',
      path: `/tenants/${domain}/${reverse}`,
      body: { reason: 'undo' },
    });
    return (
      <ChangeDone title="Done" undo={undo} onClose={onClose}>
        <p>
          {isNowSuspended
            ? `${domain} is suspended. All processes follow within a second.`
            : `${domain} is active again. Its due tasks start now.`}
        </p>
      </ChangeDone>
    );
  }
  const isSuspended = tenant.status === 'suspended';
  return (
    <TenantForm
      title={isSuspended ? `Resume ${domain}` : `Suspend ${domain}`}
      verb={isSuspended ? 'Resume' : 'Suspend'}
      effect={isSuspended ? resumeEffect(tenant) : suspendEffect(tenant)}
      isDangerous={!isSuspended}
      domain={domain}
      action={isSuspended ? 'resume' : 'suspend'}
      command={[isSuspended ? 'resume' : 'suspend', domain]}
      change={change}
      onClose={onClose}
    />
  );
}

function suspendEffect(tenant: TenantDetails): string {
  const { domain, in_flight } = tenant;
  const waiting = openTasks(tenant) - in_flight;
  return (
    `The tokens of ${domain} can only read. Open tasks wait (now ${formatCount(waiting)}), and no schedule fires. ` +
    `Running attempts may end (now ${formatCount(in_flight)}). Nothing is deleted.`
  );
}

function resumeEffect({ domain, due }: TenantDetails): string {
  return `The tokens of ${domain} can change things again. Due tasks start (now ${dueText(due)}), within the limits of the tenant.`;
}
