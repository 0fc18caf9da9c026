/** One line of a Dockerfile: the instruction, its flags such as `--from=build`, and the rest. */
export interface Instruction {
  readonly name: InstructionName;
  readonly flags: Readonly<Record<string, string>>;
  readonly rest: string;
}

export interface Stage {
  /** What `FROM` names. */
  readonly base: string;
  /** What `AS` names; empty without it. */
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

const NAMES = [
  'CMD',
  'COPY',
  'ENTRYPOINT',
  'ENV',
  'EXPOSE',
  'HEALTHCHECK',
  'RUN',
  'STOPSIGNAL',
  'USER',
  'WORKDIR',
] as const;
export type InstructionName = (typeof NAMES)[number];

/** Reads the instructions that the Dockerfile of this repository uses; others are refused. */
export function parseDockerfile(text: string): Stage[] {
  const stages: { base: string; name: string; instructions: Instruction[] }[] = [];
  const lines = text
    .split('\n')
    .filter(line => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter(line => line.trim() !== '');
  for (const line of lines) {
    const from = /^FROM (\S+)(?: AS (\S+))?$/.exec(line);
    if (from === null) stages.at(-1)?.instructions.push(instruction(line));
    else stages.push({ base: from[1], name: from[2] ?? '', instructions: [] });
  }
  return stages;
}

function instruction(line: string): Instruction {
  const [, word, flagText, rest] = /^(\w+)((?:\s+--[\w-]+=\S+)*)\s+(.*)$/.exec(line) ?? [];
  const name = NAMES.find(known => known === word);
  if (name === undefined) throw new Error(`the test cannot carry out this line of the Dockerfile: ${line}`);
  const flags = [...flagText.matchAll(/--([\w-]+)=(\S+)/g)].map(([, flag, value]) => [flag, value]);
  return { name, flags: Object.fromEntries(flags), rest };
}
