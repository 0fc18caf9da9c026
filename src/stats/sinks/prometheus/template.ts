/** A text in which `$1`, `${1}`, `$name` or `${name}` stands for what a glob's `*` or a pattern's group matched. */
export type Template = (groups: Groups) => string;

/** The whole match, then the groups. */
export type Groups = readonly (string | undefined)[] & {
  readonly groups?: Record<string, string | undefined> | undefined;
};

const REFERENCE = /\$(?:\$|\{(\w+)\}|(\w+))/g;

/**
 * Takes the text apart once: it is filled for hundreds of thousands of names. A group that does not exist, or took no
 * part, is empty; `$$` is a dollar sign.
 */
export function template(text: string): Template {
  const parts: Template[] = [];
  let from = 0;
  for (const reference of text.matchAll(REFERENCE)) {
    const [whole, braced, bare] = reference;
    parts.push(literal(text.slice(from, reference.index)));
    parts.push(whole === '$$' ? literal('$') : group(braced ?? bare));
    from = reference.index + whole.length;
  }
  parts.push(literal(text.slice(from)));
  return groups => {
    let filled = '';
    for (const part of parts) filled += part(groups);
    return filled;
  };
}

function literal(text: string): Template {
  return () => text;
}

function group(name: string): Template {
  if (!/^\d+$/.test(name)) return groups => groups.groups?.[name] ?? '';
  const number = Number(name);
  return groups => groups[number] ?? '';
}
