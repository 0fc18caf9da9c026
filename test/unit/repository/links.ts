import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One sentence for each link of a Markdown file that leads to no file, or to no heading of it. */
export function linkFaults(root: string, path: string): string[] {
  const text = withoutCode(readFileSync(join(root, path), 'utf8'));
  const targets = [...text.matchAll(/\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)/g)].map(
    ([, target]) => target,
  );
  return targets.flatMap(target => {
    const reason = /^[a-z]+:/.test(target) ? null : faultOf(root, path, target);
    return reason === null ? [] : [`${path}: the link ${target} ${reason}`];
  });
}

function faultOf(root: string, path: string, target: string): string | null {
  const [file, anchor] = target.split('#', 2);
  const found = file === '' ? path : join(dirname(path), file);
  if (!existsSync(join(root, found))) return 'leads to no file';
  if (anchor === undefined || !found.endsWith('.md')) return null;
  return anchorsOf(readFileSync(join(root, found), 'utf8')).has(anchor) ? null : 'leads to no heading';
}

/** The anchors that forges give to the headings of a Markdown file. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  const headings = markdown.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/^#{1,6} +(.+?) *#*$/gm);
  for (const [, heading] of headings) {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-');
    // A heading that is repeated has a number behind its anchor.
    let unique = anchor;
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^ *```.*?^ *```/gms, '').replaceAll(/`[^`\n]*`/g, '`');
}
