import { errorAnswer } from './status.ts';

/**
 * A chunked body may have `FREE_CHUNKS` chunks, and one more for each `LEAST_CHUNK_BYTES` bytes. A chunk of one byte
 * costs as much as a hundred bytes of a larger chunk.
 */
const FREE_CHUNKS = 256;
export const LEAST_CHUNK_BYTES = 16;

/** Some chunks arrive in two parts, because a read ends within them. Each part counts as a chunk. */
const LEAST_PART_BYTES = LEAST_CHUNK_BYTES - 1;

/** Whether a chunked body of `bytes` bytes arrived in more chunks than allowed. */
export function hasTooManyChunks(chunks: number, bytes: number): boolean {
  return chunks > FREE_CHUNKS + bytes / LEAST_PART_BYTES;
}

/** The answer to a body in too many chunks. The connection is closed after it. */
export const CHUNKS_TOO_SMALL = errorAnswer({
  code: 'bad_request',
  message: `the chunks of the body are too small: send ${LEAST_CHUNK_BYTES} bytes or more in each`,
});
