import type { ChipKind } from '../../../design/chip.tsx';
import { OPEN_STATUSES, type TaskStatus } from '../../../service/task-status.ts';

/** A tenant of the task service, as the operator's API lists it. */
export interface Tenant {
  readonly domain: string;
  readonly status: 'active' | 'suspended' | 'deleting' | 'deleted';
  readonly created_at: string;
  readonly suspended: { readonly since: string; readonly reason: string | null } | null;
  readonly tasks: Readonly<Record<TaskStatus, number>>;
  readonly stored: number;
  readonly workers: number;
  readonly in_flight: number;
  /** At most {@link MAX_DUE}, which stands for that many or more. */
  readonly due: number;
  readonly oldest_due_at: string | null;
  /** In the present minute and the one before. */
  readonly per_second: { readonly created: number; readonly ended: number; readonly failed: number };
  /** Tasks that ended in each of the last 20 minutes. */
  readonly ended_spark: readonly number[];
}

export const MAX_DUE = 10_000;

export interface TenantList {
  readonly time: string;
  readonly ordered_at: string;
  readonly total: number;
  /** Set if there are more tenants than this; the others are not listed. */
  readonly cut_at: number | null;
  readonly offset: number;
  readonly tenants: readonly Tenant[];
  /** Domains whose figures could not be read. */
  readonly unreadable: readonly string[];
}

/** The limits by their names in the API; durations are texts. */
export type TenantLimits = Readonly<Record<string, string | number>>;

/** One tenant, with what is known of it alone. */
export interface TenantDetails extends Tenant {
  readonly id: string;
  readonly api_url: string;
  readonly owners: number;
  readonly limits: TenantLimits;
  readonly changed_limits: readonly string[];
  /** By the names of the limits. */
  readonly use: Readonly<Record<string, number>>;
  readonly deletion: {
    readonly requested_at: string;
    readonly tasks_left: number;
    readonly finished_at: string | null;
    readonly domain_free_at: string | null;
  } | null;
}

export const STATUS_CHIPS: Readonly<Record<Tenant['status'], ChipKind>> = {
  active: 'allowed',
  suspended: 'near',
  deleting: 'rejected',
  deleted: 'neutral',
};

export function openTasks({ tasks }: Tenant): number {
  return OPEN_STATUSES.reduce((sum, status) => sum + tasks[status], 0);
}
