/** The two kinds of calls, which have limits of their own. */
export type CallKind = 'read' | 'write';

/** The kind of a call by its method. */
export function kindOf(method: string): CallKind {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}
