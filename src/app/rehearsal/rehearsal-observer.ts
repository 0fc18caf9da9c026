import type { FingerprintKey } from '../../counters/fingerprint.ts';
import type { BatchObserver } from '../../decision/batch-observer.ts';
import type { RehearsalSource } from '../../rehearsal/rehearsal-channel.ts';
import { RehearsalObserver } from '../../rehearsal/rehearsal-observer.ts';
import type { Settings } from '../../settings/table.ts';
import { SharedRecordsReader } from '../../steering/shared-records.ts';
import { engineOptions, localCacheBytes } from '../decision/engine-settings.ts';

interface ObserverParts {
  readonly settings: Settings;
  readonly store: { readonly fingerprintKey: FingerprintKey };
  /** Memory of the steering records; null if they are disabled. */
  readonly steering: SharedArrayBuffer | null;
}

/** The observer of a thread that decides candidate rules in shadow. */
export function rehearsalObserver(
  { settings, store, steering }: ObserverParts,
  source: RehearsalSource,
): BatchObserver {
  return new RehearsalObserver({
    source,
    options: engineOptions(settings),
    fingerprintKey: store.fingerprintKey,
    localCacheBytes: localCacheBytes(settings),
    steering: steering === null ? null : new SharedRecordsReader(steering),
  });
}
