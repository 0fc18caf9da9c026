import type { ComponentType } from 'preact';
import { Overview } from './views/overview/overview.tsx';

/** A view of the live page, by the parameter `view` of the address. */
export interface View {
  /** For the navigation; absent for views that are opened from others. */
  readonly title?: string;
  readonly component: ComponentType;
}

/** The first one is shown without a parameter. */
export const VIEWS: Readonly<Record<string, View>> = {
  overview: { title: 'Overview', component: Overview },
};
