import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type Entry, operationsOf, type ProblemEntry, problemsOf, webhooksOf } from './entries.ts';
import type { OpenApi } from './openapi.ts';

/** Everything that the page shows. */
export interface Contents {
  readonly document: OpenApi;
  readonly operations: readonly Entry[];
  readonly webhooks: readonly Entry[];
  readonly problems: readonly ProblemEntry[];
}

export function contentsOf(document: OpenApi): Contents {
  return {
    document,
    operations: operationsOf(document),
    webhooks: webhooksOf(document),
    problems: problemsOf(document),
  };
}

export const ContentsContext = createContext<Contents | null>(null);

/** The contents, in components below the {@link ContentsContext}. */
export function useContents(): Contents {
  const contents = useContext(ContentsContext);
  if (contents === null) throw new Error('the document has not been read');
  return contents;
}
