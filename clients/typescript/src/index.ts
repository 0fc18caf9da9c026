export type { CallOptions, RetryOptions } from './calls.ts';
export { type Answer, SluiceClient, type SluiceClientOptions } from './client.ts';
export { SluiceProblem, SluiceUnreachable } from './failures.ts';
export type { components, operations, paths } from './generated/api.ts';
export type { AbortName, TaskContext, TaskHandler } from './leased-task.ts';
export { type PullWorkerOptions, runPullWorker } from './pull-worker.ts';
export type { Lease, Problem, Task } from './schemas.ts';
export { TaskFailed, type TaskFailedOptions } from './task-failed.ts';
export {
  type ReceivedHeaders,
  type VerifiedDelivery,
  WebhookRejected,
  WebhookVerifier,
  type WebhookVerifierOptions,
} from './webhook-verifier.ts';
