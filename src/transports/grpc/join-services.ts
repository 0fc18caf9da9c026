import type { GrpcService, StreamMethod, UnaryMethod } from '../../grpc/service.ts';

/** One service with the methods of all, for a server that serves them on one port. */
export function joinServices(services: readonly GrpcService[]): GrpcService {
  const unary = new Map<string, UnaryMethod>();
  const serverStreaming = new Map<string, StreamMethod>();
  for (const service of services) {
    for (const [path, method] of service.unary) unary.set(path, method);
    for (const [path, method] of service.serverStreaming) serverStreaming.set(path, method);
  }
  return { unary, serverStreaming };
}
