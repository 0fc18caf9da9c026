import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { repositoryRoot } from '../../../support/repository.ts';
import { octets } from './blocks.ts';

/** A recorded block. */
export interface StoryBlock {
  readonly bytes: Uint8Array;
  readonly fields: readonly HeaderField[];
}

/** The blocks that some encoder wrote on one connection, and what another decoder made of them. */
export interface Story {
  readonly name: string;
  readonly blocks: readonly StoryBlock[];
}

const FOLDER = 'test/unit/http2/hpack/stories';

export function readStories(): Story[] {
  const folder = join(repositoryRoot(), FOLDER);
  return readdirSync(folder).map(file => ({
    name: file.replace('.txt', ''),
    blocks: parseStory(readFileSync(join(folder, file), 'latin1')),
  }));
}

/**
 * The lines of a story: `# remark`, `table-size octets`, `block hex`, and under a block its fields as `name: value`,
 * where octets outside ASCII are written as \xhh. An empty line stands before each block. `table-size` tells why the
 * encoder changed its table before the block: the decoder's side had announced this size.
 */
function parseStory(text: string): StoryBlock[] {
  return text
    .split('\n\n')
    .slice(1)
    .map(paragraph => {
      const lines = paragraph.trimEnd().split('\n');
      const blockAt = lines.findIndex(line => line.startsWith('block '));
      return {
        bytes: octets(lines[blockAt].replace('block ', '')),
        fields: lines.slice(blockAt + 1).map(parseField),
      };
    });
}

function parseField(line: string): HeaderField {
  const [, name, value = ''] = /^(:?[^:]+):(?: (.*))?$/.exec(line) as RegExpExecArray;
  return [
    name,
    value.replaceAll(/\\x(..)/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16))),
  ];
}
