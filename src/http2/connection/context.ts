import type { StreamTable } from '../streams/table.ts';
import type { Budgets } from './budgets/budgets.ts';
import type { ConnectionLimits } from './budgets/limits.ts';
import type { Progress } from './budgets/progress.ts';
import type { StreamHandler } from './handler.ts';
import type { Sender } from './sender.ts';

/** What the parts of a connection share. */
export interface ConnectionContext {
  readonly limits: ConnectionLimits;
  readonly handler: StreamHandler;
  readonly progress: Progress;
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly budgets: Budgets;
}
