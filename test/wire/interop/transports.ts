import { join } from 'node:path';
import type { Test } from 'tap';
import type { ListenAddress } from '../../../src/transports/grpc/listener.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

/** Where servers listen, in turn, while other programs call them. */
export const TRANSPORTS: Readonly<Record<string, (t: Test) => ListenAddress>> = {
  TCP: () => ({ host: '127.0.0.1', port: 0 }),
  'a unix socket': t => ({ path: join(tempDirectory(t), 'grpc.sock') }),
};
