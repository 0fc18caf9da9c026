import { PLANTED, type PlantedFault } from './planted.ts';
import { PLANTED_DECISIONS } from './planted-decisions.ts';

/** The planted faults of both simulators. Their files are below `src`. */
export const ALL_PLANTED: readonly (PlantedFault & { readonly simulator: 'tasks' | 'decisions' })[] = [
  ...PLANTED.map(fault => ({ ...fault, file: `tasks/${fault.file}`, simulator: 'tasks' as const })),
  ...PLANTED_DECISIONS.map(fault => ({ ...fault, simulator: 'decisions' as const })),
];
