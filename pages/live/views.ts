import type { ComponentType } from 'preact';
import { Changes } from './views/changes/changes.tsx';
import { ExplainView } from './views/explain/explain-view.tsx';
import { LimitPage } from './views/limit/limit-page.tsx';
import { Limits } from './views/limits/limits.tsx';
import { Loads } from './views/loads/loads.tsx';
import { Overview } from './views/overview/overview.tsx';
import { RehearsalView } from './views/rehearsal/rehearsal-view.tsx';

/** A view of the live page, by the parameter `view` of the address. */
interface View {
  /** In the navigation and in the title of the window. */
  readonly name: string;
  /** False for a view that is opened from others. */
  readonly inNavigation?: boolean;
  readonly component: ComponentType;
}

/** The first one is shown without a parameter. */
export const VIEWS: Readonly<Record<string, View>> = {
  overview: { name: 'Overview', component: Overview },
  limits: { name: 'Limits', component: Limits },
  explain: { name: 'Explain', component: ExplainView },
  changes: { name: 'Changes', component: Changes },
  rehearsal: { name: 'Rehearsal', component: RehearsalView },
  loads: { name: 'Rule loads', component: Loads },
  limit: { name: 'Limit', inNavigation: false, component: LimitPage },
};

/** The view that the search of the header opens, with the text in the parameter `q`. */
export const SEARCH_VIEW = 'limits';
