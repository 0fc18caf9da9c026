/** Why a due task has not started, by `waiting_for`: in words, and what the user can do. */
const REASONS: Readonly<Record<string, readonly [why: string, what: string]>> = {
  held: [
    'Another task must finish first.',
    'It starts when that task has ended; cancel that task to start this one.',
  ],
  tenant_suspended: ['The account is suspended.', 'The operator of the service can resume it.'],
  worker_deleted: ['Its worker is being deleted.', 'Cancel the task, or create it again for another worker.'],
  paused: ['Its worker is paused.', 'Resume the worker, or run this task now.'],
  group: [
    'Other tasks of its group are running, or come before it.',
    'It starts when they have ended. The group_concurrency of the worker says how many run at once.',
  ],
  throttled: ['The worker asked for a pause with Retry-After.', 'It starts when that time has passed.'],
  concurrency: [
    'The worker runs as many tasks as its concurrency allows.',
    'It starts when one of them has ended. Raise the concurrency of the worker if the worker can take more.',
  ],
  rate: [
    'The rate of the worker is reached.',
    'It starts with the next free start. The rate is a field of the worker.',
  ],
  limit: ['The limit that the worker names is used up.', 'It starts when the window of the limit ends.'],
  tenant_share: [
    'The account runs as many tasks as its limits allow.',
    'It starts when others have ended. Usage shows the limits of the account.',
  ],
  secrets_unreadable: [
    'A secret of the worker cannot be decrypted.',
    'The operator has to restore the master key, or you replace the secret.',
  ],
  capacity: ['It is about to start, or all slots of the service are in use.', 'It starts by itself.'],
  pull_worker: [
    'No program has asked for it since it became due.',
    'Check that the program that leases tasks of this worker is running.',
  ],
};

/** The reason in words, and what to do. Unknown reasons are shown by their name. */
export function waitingText(reason: string): readonly [why: string, what: string] {
  return REASONS[reason] ?? [`It waits for: ${reason}.`, ''];
}
