import { loadHttpEngine } from '../../src/transports/http/load-engine.ts';

/** The engine that serves HTTP by default. */
export const HTTP_ENGINE = await loadHttpEngine();
