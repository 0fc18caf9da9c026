import type { Logger } from '../../base/logger.ts';
import type { HttpEngine } from './listener.ts';

interface EngineSettings {
  /** `auto`: uWebSockets.js if it loads and there are no tasks, otherwise Node.js. */
  readonly httpServerEngine: 'auto' | 'uws' | 'node';
  /**
   * Whether the process serves tasks. uWebSockets.js drops bytes from 0x80 on at both ends of a field value, and nothing
   * shows that it has. Two values of `Idempotency-Key` would be one, and a task would not be created.
   */
  readonly tasksEnabled: boolean;
  /** Maximum size of a request head: request line and header fields. */
  readonly httpMaxHeaderBytes: number;
}

/**
 * Loads the engine of the HTTP ports. This is the only place that loads uWebSockets.js, because its binary exists only
 * for Node.js 22 and lower, for glibc, and for some processors.
 *
 * @throws Error naming the setting, if the selected engine cannot be loaded
 */
export async function loadHttpEngine(settings: EngineSettings, log: Logger): Promise<HttpEngine> {
  const { httpServerEngine: wanted, tasksEnabled } = settings;
  if (wanted === 'uws' && tasksEnabled) {
    throw new Error(
      'HTTP_SERVER_ENGINE=uws: uWebSockets.js cannot serve tasks (TASKS_ENABLED), because it drops bytes beyond ASCII ' +
        'at the ends of an Idempotency-Key, so that different keys would be the same; set HTTP_SERVER_ENGINE to auto or node',
    );
  }
  if (wanted === 'uws' || (wanted === 'auto' && !tasksEnabled)) {
    try {
      return await loadUws(settings.httpMaxHeaderBytes);
    } catch (thrown) {
      const error = reasonOf(thrown);
      if (wanted === 'uws') {
        throw new Error(
          `HTTP_SERVER_ENGINE=uws: uWebSockets.js does not load with Node.js ${process.version} on this machine (${error}); ` +
            'set HTTP_SERVER_ENGINE to auto or node',
        );
      }
      log.warning(
        'uWebSockets.js could not be loaded; the HTTP ports use the HTTP server of Node.js, which needs more CPU time ' +
          'per request. Set HTTP_SERVER_ENGINE=node to select it without this warning',
        { error, node: process.version },
      );
    }
  }
  const { nodeEngine } = await import('./node/node-server.ts');
  return nodeEngine({ maxHeaderBytes: settings.httpMaxHeaderBytes });
}

async function loadUws(maxHeaderBytes: number): Promise<HttpEngine> {
  // uWebSockets.js reads the variable once, when it is loaded. It offers no other way to set this limit.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(maxHeaderBytes);
  const { UWS_ENGINE } = await import('./uws/uws-server.ts');
  return UWS_ENGINE;
}

/** The error message starts with a list of systems and ends with a `require` stack. Both are removed. */
function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return /^Error: (.+)$/m.exec(text)?.[1] ?? text.split('\n')[0];
}
