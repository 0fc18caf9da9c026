/** One block of a PEM file (RFC 7468). */
interface PemBlock {
  /** `CERTIFICATE`, `PRIVATE KEY`, … */
  readonly label: string;
  /** The whole block, with its first and its last line. */
  readonly text: string;
}

/** The blocks of a text, in order. What stands between them is skipped, and what follows one without an end. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  const begin = /-----BEGIN ([A-Z0-9 ]{1,64})-----/g;
  for (let match = begin.exec(text); match !== null; match = begin.exec(text)) {
    const last = `-----END ${match[1]}-----`;
    const end = text.indexOf(last, begin.lastIndex);
    if (end === -1) break;
    begin.lastIndex = end + last.length;
    blocks.push({ label: match[1], text: text.slice(match.index, begin.lastIndex) });
  }
  return blocks;
}
