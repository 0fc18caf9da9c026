/** Status messages travel in a header section and are for people; more characters help nobody. */
const MAX_CHARACTERS = 1_024;

/** Octets on the wire: clients may refuse header sections of more than 8 KiB ("gRPC over HTTP2", Responses). */
const MAX_ENCODED_BYTES = 6_144;

const ELLIPSIS = '…';
const ENCODED_ELLIPSIS = '%E2%80%A6';

/** A text as it may go into `grpc-message`: bounded, and free of lone surrogates, which UTF-8 cannot write. */
export function statusMessage(text: string): string {
  return (text.length <= MAX_CHARACTERS ? text : cut(text)).toWellFormed();
}

/** Cuts between characters, not inside one that takes two places. */
function cut(text: string): string {
  const end = MAX_CHARACTERS - 1;
  const isInside = /[\ud800-\udbff]/.test(text[end - 1]);
  return text.slice(0, isInside ? end - 1 : end) + ELLIPSIS;
}

/** Text that needs no encoding: printable ASCII without the percent sign. */
const PLAIN = /^[ -$&-~]*$/;

/** `grpc-message`: all but printable ASCII, and the percent sign, is percent-encoded ("gRPC over HTTP2", Responses). */
export function encodeStatusMessage(text: string): string {
  if (text.length <= MAX_CHARACTERS && PLAIN.test(text)) return text;
  let encoded = '';
  for (const character of statusMessage(text)) {
    const added = encodeCharacter(character);
    if (encoded.length + added.length > MAX_ENCODED_BYTES) return encoded + ENCODED_ELLIPSIS;
    encoded += added;
  }
  return encoded;
}

function encodeCharacter(character: string): string {
  if (character >= ' ' && character <= '~' && character !== '%') return character;
  let encoded = '';
  for (const octet of Buffer.from(character))
    encoded += `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
  return encoded;
}
