import { DOMAIN_BLOCKS, type DomainBlock, type DomainRules } from '../rule-set.ts';
import { checkAnswers } from './check-answers.ts';
import { offsetOf } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { checkRequests } from './requests/check-requests.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** A block, and the file that has it. */
interface WrittenBlock<Name extends DomainBlock> {
  readonly file: string;
  readonly content: NonNullable<DomainRules[Name]>;
}

/** The blocks of a domain so far. */
export type DomainBlocks = { [Name in DomainBlock]?: WrittenBlock<Name> };

/** Adds the blocks of a file to those of its domain. Of several files with the same domain, only one may have a block. */
export function addDomainBlocks(check: FileCheck, root: YamlMap, blocks: DomainBlocks): void {
  const { file } = check.source;
  const answers = checkAnswers(check, root);
  if (answers !== null && isFirst(check, root, 'answers', blocks))
    blocks.answers = { file, content: answers };
  const requests = checkRequests(check, root);
  if (requests !== null && isFirst(check, root, 'requests', blocks))
    blocks.requests = { file, content: requests };
}

/** Whether no file before has the block. Reports it otherwise. */
function isFirst(check: FileCheck, root: YamlMap, name: DomainBlock, blocks: DomainBlocks): boolean {
  const before = blocks[name];
  if (before === undefined) return true;
  check.fault(
    offsetOf(root, name),
    `the domain already has \`${name}\` in ${before.file}: write them in one of the files`,
  );
  return false;
}

/** The blocks that no file of a domain has. */
export function missingBlocks(blocks: DomainBlocks): readonly DomainBlock[] {
  return DOMAIN_BLOCKS.filter(name => blocks[name] === undefined);
}

/** The blocks of a domain as fields of its rules. */
export function domainFields({ answers, requests }: DomainBlocks): Pick<DomainRules, DomainBlock> {
  return {
    ...(answers !== undefined && { answers: answers.content }),
    ...(requests !== undefined && { requests: requests.content }),
  };
}
