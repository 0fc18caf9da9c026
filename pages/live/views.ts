import type { ComponentType } from 'preact';
import { Changes } from './views/changes/changes.tsx';
import { ExplainView } from './views/explain/explain-view.tsx';
import { LimitPage } from './views/limit/limit-page.tsx';
import { Limits } from './views/limits/limits.tsx';
import { Loads } from './views/loads/loads.tsx';
import { Overview } from './views/overview/overview.tsx';
import { QuotaPage } from './views/quota/quota-page.tsx';
import { QuotasView } from './views/quotas/quotas.tsx';
import { RehearsalView } from './views/rehearsal/rehearsal-view.tsx';
import { TenantPage } from './views/tenant/tenant-page.tsx';
import { Tenants } from './views/tenants/tenants.tsx';

/** A view of the live page, by the parameter `view` of the address. */
interface View {
  /** In the navigation and in the title of the window. */
  readonly name: string;
  /** False for a view that is opened from others. */
  readonly inNavigation?: boolean;
  /** True for a view that the navigation shows only if the process serves tasks. */
  readonly ofTasks?: boolean;
  /** The view that the search of the header opens from here; {@link SEARCH_VIEW} if absent. */
  readonly searches?: string;
  readonly component: ComponentType;
}

/** The first one is shown without a parameter. */
export const VIEWS: Readonly<Record<string, View>> = {
  overview: { name: 'Overview', component: Overview },
  limits: { name: 'Limits', component: Limits },
  quotas: { name: 'Quotas', component: QuotasView },
  explain: { name: 'Explain', component: ExplainView },
  changes: { name: 'Changes', component: Changes },
  rehearsal: { name: 'Rehearsal', component: RehearsalView },
  loads: { name: 'Rule loads', component: Loads },
  tenants: { name: 'Tenants', ofTasks: true, searches: 'tenants', component: Tenants },
  tenant: { name: 'Tenant', inNavigation: false, searches: 'tenants', component: TenantPage },
  quota: { name: 'Quota', inNavigation: false, component: QuotaPage },
  limit: { name: 'Limit', inNavigation: false, component: LimitPage },
};

/** The view that the search of the header opens from most views, with the text in the parameter `q`. */
export const SEARCH_VIEW = 'limits';
