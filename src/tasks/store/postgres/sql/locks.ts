/**
 * Classes of advisory locks, which end with their transaction.
 *
 * - `worker`: shared by creations of tasks of the worker, exclusive for the deletion of its document
 * - `quota`: of creations of a tenant that is near its limit of open tasks
 * - `siblings`: of new documents of a kind that are limited in number
 * - `idempotency`: of requests with the same key
 * - `copies`: of copies that are written for a tenant
 * - `tenant`: shared by writes that refer to the row of a tenant by its number, exclusive for its removal. A lock of the row
 *   itself would write to it, with each creation that has a key
 */
export const LOCK = {
  worker: 0x534c_0001,
  quota: 0x534c_0002,
  siblings: 0x534c_0003,
  idempotency: 0x534c_0004,
  copies: 0x534c_0005,
  tenant: 0x534c_0006,
} as const;
