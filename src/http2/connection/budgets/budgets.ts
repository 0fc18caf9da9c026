import { Budget } from './budget.ts';
import type { ConnectionLimits } from './limits.ts';
import type { Progress } from './progress.ts';

/** The allowances of one connection; see {@link ConnectionLimits}. */
export class Budgets {
  readonly resets: Budget;
  readonly control: Budget;
  readonly windowChanges: Budget;
  readonly idleFrames: Budget;
  readonly lateFrames: Budget;
  readonly smallData: Budget;
  readonly largeHeaders: Budget;
  readonly streamFaults: Budget;

  constructor(limits: ConnectionLimits, progress: Progress) {
    this.resets = new Budget(limits.resets, progress);
    this.control = new Budget(limits.control, progress);
    this.windowChanges = new Budget(limits.windowChanges, progress);
    this.idleFrames = new Budget(limits.idleFrames, progress);
    this.lateFrames = new Budget(limits.lateFrames, progress);
    this.smallData = new Budget(limits.smallData, progress);
    this.largeHeaders = new Budget(limits.largeHeaders, progress);
    this.streamFaults = new Budget(limits.streamFaults, progress);
  }
}
