import type { FileHandle } from 'node:fs/promises';

/** Reads a file to its end, but at most one byte more than `size`: that byte tells that the file is larger. */
export async function readWhole(handle: FileHandle, size: number): Promise<Uint8Array> {
  const content = new Uint8Array(size + 1);
  let length = 0;
  while (length < content.length) {
    const { bytesRead } = await handle.read(content, length, content.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return content.subarray(0, length);
}
