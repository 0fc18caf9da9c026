import type { Settings } from '../../settings/table.ts';
import type { DeliverySetup } from '../../tasks/delivery/delivery-thread.ts';
import type { TenantLimits } from '../../tasks/model/documents.ts';
import type { LimitDomains } from '../start-limits.ts';

/** Where tasks may be pushed to. Worker URLs are checked against it, and deliveries keep to it. */
export function workerNetworks(settings: Settings): Pick<DeliverySetup, 'networks' | 'ports' | 'allowHttp'> {
  return {
    networks: listOf(settings.tasksPushNetworks),
    ports: listOf(settings.tasksPushPorts).map(Number),
    allowHttp: settings.tasksPushHttp,
  };
}

function listOf(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

/** Limits of a tenant for which the operator has not changed anything. */
export function tenantLimits(settings: Settings): TenantLimits {
  return {
    openTasks: settings.tasksMaxOpen,
    retainSucceededMs: settings.tasksRetainSucceededMs,
    retainOtherMs: settings.tasksRetainOtherMs,
    payloadBytes: settings.tasksMaxPayloadBytes,
    workers: settings.tasksMaxWorkers,
    schedules: settings.tasksMaxSchedules,
    users: settings.tasksMaxUsers,
    tokensPerUser: settings.tasksMaxTokens,
    inFlight: settings.tasksMaxInFlight,
    dispatchPerSecond: settings.tasksDispatchRate,
  };
}

/** The domains whose limits workers may name. */
export function limitDomains(settings: Settings): LimitDomains {
  return {
    ofTenants: listOf(settings.tasksLimitDomains),
    shared: listOf(settings.tasksLimitSharedDomains),
  };
}

/** The entry of a thread, by the name of its file in `workers`. */
export function workerModule(name: string): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`../../../workers/${name}.${extension}`, import.meta.url);
}
