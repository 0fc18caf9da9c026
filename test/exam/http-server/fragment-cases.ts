import { type Ask, chunked, DECIDED, type HttpCase, type Pieces, posted } from './case.ts';

/** A decision with some fields; each of its parts is long enough for many places to divide it at. */
function whole({ body }: Ask): string {
  return posted(body, 'User-Agent: exam/1.0', 'Accept: */*', 'X-Empty:');
}

function wholeInChunks({ body }: Ask): string {
  const half = body.length >> 1;
  const chunk = (part: string) => `${part.length.toString(16)}\r\n${part}\r\n`;
  return chunked(`${chunk(body.slice(0, half))}${chunk(body.slice(half))}0\r\n\r\n`);
}

/** The same bytes in two reads, divided at every place from `from` up to `to`. */
function divided(text: string, from: number, to: number): Pieces[] {
  return Array.from({ length: to - from }, (_, i) => [text.slice(0, from + i), text.slice(from + i)]);
}

function lineEnd(text: string): number {
  return text.indexOf('\r\n') + 2;
}

function headEnd(text: string): number {
  return text.indexOf('\r\n\r\n') + 4;
}

function inTwoReads(part: string, cut: (ask: Ask) => Pieces[]): HttpCase {
  return { name: `request in two reads, divided in ${part}`, rfc: '9112 2.2', sends: cut, allows: DECIDED };
}

/** Reads end anywhere: that is no part of the protocol (RFC 9112, 2.2: a message is a sequence of octets). */
export const fragmentCases: readonly HttpCase[] = [
  inTwoReads('its request line', ask => divided(whole(ask), 1, lineEnd(whole(ask)))),
  inTwoReads('its fields', ask => divided(whole(ask), lineEnd(whole(ask)), headEnd(whole(ask)))),
  inTwoReads('its body', ask => divided(whole(ask), headEnd(whole(ask)), whole(ask).length)),
  inTwoReads('its chunks', ask => {
    const text = wholeInChunks(ask);
    return divided(text, headEnd(text), text.length);
  }),
  {
    name: 'request in reads of one byte',
    rfc: '9112 2.2',
    sends: ask => [...whole(ask)],
    allows: DECIDED,
  },
  {
    name: 'request whose fields and body come in reads of one byte',
    rfc: '9112 2.2',
    sends: ask => {
      const text = whole(ask);
      const end = lineEnd(text);
      return [text.slice(0, end), ...text.slice(end)];
    },
    allows: DECIDED,
  },
  {
    name: 'chunked body in reads of one byte',
    rfc: '9112 2.2',
    sends: ask => {
      const text = wholeInChunks(ask);
      const end = headEnd(text);
      return [text.slice(0, end), ...text.slice(end)];
    },
    allows: DECIDED,
  },
];
