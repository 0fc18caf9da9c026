import { loadHttpEngine } from '../../src/transports/http/engine.ts';
import { KeepingLogger } from './keeping-logger.ts';

const settings = { httpMaxHeaderBytes: 16_384, tasksEnabled: false };

/** Both engines of the HTTP ports. */
export const HTTP_ENGINES = {
  uws: await loadHttpEngine({ ...settings, httpServerEngine: 'uws' }, new KeepingLogger()),
  node: await loadHttpEngine({ ...settings, httpServerEngine: 'node' }, new KeepingLogger()),
};

/** The engine that serves HTTP by default, without tasks. */
export const HTTP_ENGINE = HTTP_ENGINES.uws;
