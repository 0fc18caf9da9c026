import type { HttpEngine } from './engine.ts';

/** Loads the engine of the HTTP ports. uWebSockets.js is loaded nowhere else. */
export async function loadHttpEngine(): Promise<HttpEngine> {
  const { UWS_ENGINE } = await import('./uws/uws-server.ts');
  return UWS_ENGINE;
}
