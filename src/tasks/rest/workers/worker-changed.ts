import type { RestParts } from '../http/parts.ts';

/** To be called after every change of a worker or of its secrets. */
export function workerChanged(
  { directory, signals }: Pick<RestParts, 'directory' | 'signals'>,
  tenant: string,
  id: string,
): void {
  directory.changed(tenant);
  signals.tell('workerChanged', tenant, id);
}
