import type { DocumentBodies, DocumentKind } from '../../../model/documents.ts';
import { DOCUMENT_CODES } from '../../codes.ts';
import type { StoredDocument } from '../../documents.ts';

/** Values of the columns of a document. */
export type DocumentValues = readonly [
  kind: number,
  id: string,
  version: number,
  parent: string,
  dueAt: number | null,
  body: string,
];

export function documentOf([kind, id, version, parent, dueAt, body]: DocumentValues): StoredDocument {
  return {
    kind: DOCUMENT_CODES[kind],
    id,
    version,
    parent,
    dueAt,
    body: JSON.parse(body) as DocumentBodies[DocumentKind],
  };
}
