/** A message as gRPC sends it over HTTP/2: not compressed, its length, itself ("gRPC over HTTP2"). */
export function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + message.length);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, 5);
  return bytes;
}
