import type { Logger } from '../../base/logger.ts';
import type { HttpEngine } from './engine.ts';

export interface EngineSettings {
  /** `auto`: uWebSockets.js where it loads, else Node.js. */
  readonly httpServerEngine: 'auto' | 'uws' | 'node';
  /** The bound of the head of a request: request line and header fields. */
  readonly httpMaxHeaderBytes: number;
}

/**
 * Loads the engine of the HTTP ports. uWebSockets.js is loaded nowhere else: it is a binary for Node.js 22 and lower, for
 * glibc, and for some processors only.
 *
 * @throws Error naming the setting, when it asks for an engine that does not load here
 */
export async function loadHttpEngine(settings: EngineSettings, log: Logger): Promise<HttpEngine> {
  if (settings.httpServerEngine !== 'node') {
    try {
      return await loadUws(settings.httpMaxHeaderBytes);
    } catch (thrown) {
      const error = reasonOf(thrown);
      if (settings.httpServerEngine === 'uws') {
        throw new Error(
          `HTTP_SERVER_ENGINE=uws: uWebSockets.js does not load with Node.js ${process.version} on this machine (${error}); ` +
            'set HTTP_SERVER_ENGINE to auto or node',
        );
      }
      log.warning(
        'uWebSockets.js does not load here; the HTTP ports use the HTTP server of Node.js, which takes more processor ' +
          'time for each request. Set HTTP_SERVER_ENGINE=node to choose it without this message',
        { error, node: process.version },
      );
    }
  }
  const { nodeEngine } = await import('./node/node-server.ts');
  return nodeEngine({ maxHeaderBytes: settings.httpMaxHeaderBytes });
}

async function loadUws(maxHeaderBytes: number): Promise<HttpEngine> {
  // Read once, when the library is loaded. It has no other way to set this.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(maxHeaderBytes);
  const { UWS_ENGINE } = await import('./uws/uws-server.ts');
  return UWS_ENGINE;
}

/** The message begins with a list of systems, and ends with the stack of files that required the binary. */
function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return /^Error: (.+)$/m.exec(text)?.[1] ?? text.split('\n')[0];
}
