import { endpointAttributes } from '../span-endpoints.ts';
import type { CallSpan, CallTracing, SpanAttributes } from '../tracing.ts';
import type { RequestHead } from './routes.ts';

/** Methods that span names may contain. Any caller can invent others. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Starts the span of a request, with the attributes of the OpenTelemetry conventions for HTTP servers.
 *
 * @param route the path without ids, so that there are few span names
 */
export function beginRequestSpan(tracing: CallTracing, request: RequestHead, route: string): CallSpan {
  const { method } = request;
  const isKnown = METHODS.has(method);
  const name = `${isKnown ? method : 'HTTP'} ${route}`;
  const attributes = { 'http.request.method': isKnown ? method : '_OTHER', 'http.route': route };
  const span = tracing.begin(name, attributes, field => request.header(field));
  if (span.recording) span.add(detailsOf(request, isKnown));
  return span;
}

/** Attributes that are only needed if the span is exported. */
function detailsOf(request: RequestHead, isKnown: boolean): SpanAttributes {
  const agent = request.header('user-agent');
  return {
    'url.scheme': 'http',
    'url.path': request.path,
    ...(!isKnown && { 'http.request.method_original': request.method }),
    ...(agent !== '' && { 'user_agent.original': agent }),
    ...endpointAttributes(request.header('host'), request.remoteAddress),
  };
}

/** The attributes of an answer. A status of 500 or more is an error of this service. */
export function statusAttributes(status: number): SpanAttributes {
  return {
    'http.response.status_code': status,
    ...(status >= 500 && { 'error.type': String(status) }),
  };
}
