import type { Entry } from '../../entries.ts';
import { exampleOf, type OpenApi } from '../../openapi.ts';

/** The call of an operation as a command. Names in the path are as in the document. */
export function curlOf(document: OpenApi, { method, path, operation }: Entry): string {
  const { security, requestBody } = operation;
  // Accounts are at the address of the service, which the address of a tenant does not tell.
  const isOfOperator = security.some(scheme => 'operator' in scheme);
  const [origin, token] = isOfOperator
    ? ['"$SLUICE_SERVICE"', '$ACCOUNTS_OPERATOR_TOKEN']
    : [location.origin, '$SLUICE_TOKEN'];
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${origin}${path}`,
    `-H "Authorization: Bearer ${token}"`,
  ];
  const media = requestBody?.content['application/json'];
  if (media !== undefined) {
    const text = JSON.stringify(exampleOf(document, media), null, 2).replaceAll("'", String.raw`'\''`);
    parts.push("-H 'Content-Type: application/json'", `-d '${text}'`);
  }
  return parts.join(' \\\n  ');
}
