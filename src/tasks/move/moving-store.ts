import type { TaskStore } from '../store/task-store.ts';

/** A store, and its address without credentials, by which the other one knows it. */
export interface MovingStore {
  readonly store: TaskStore;
  readonly shown: string;
}

/** A move cannot begin. The message says why, and what to do. */
export class MoveRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MoveRefused';
  }
}
