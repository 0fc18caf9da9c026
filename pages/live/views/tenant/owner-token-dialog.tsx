import { ShownOnce } from '../../../design/shown-once.tsx';
import { useChange } from '../../change/change-state.ts';
import type { TenantDetails } from '../tenants/tenant.ts';
import { TenantForm } from './tenant-form.tsx';

interface OwnerTokenDialogProps {
  readonly tenant: TenantDetails;
  readonly onClose: () => void;
}

/** Creates a token for an owner who has lost all others, and shows it once. */
export function OwnerTokenDialog({ tenant: { domain, api_url }, onClose }: OwnerTokenDialogProps) {
  const change = useChange<{
    readonly token: string;
    readonly user_id: string;
    readonly expires_at: string;
  }>();
  if (change.answer !== null) {
    const { token, user_id, expires_at } = change.answer;
    return (
      <ShownOnce title="Copy the token now" label="Owner's token" value={token} onClose={onClose}>
        <p>
          It is a token of the user {user_id} of {domain}, valid until <time>{expires_at}</time>. The address
          of the tenant is {new URL(api_url).origin}.
        </p>
      </ShownOnce>
    );
  }
  return (
    <TenantForm
      title={`New owner's token of ${domain}`}
      verb="Create this token"
      effect={
        `Whoever has the token can do everything in ${domain}, for a year. It is shown once. The other tokens ` +
        'stay valid; owners can delete them. The audit log of the tenant shows that the operator created it.'
      }
      isDangerous
      domain={domain}
      action="owner-token"
      command={['owner-token', domain]}
      change={change}
      onClose={onClose}
    />
  );
}
