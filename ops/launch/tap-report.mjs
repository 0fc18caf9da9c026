/**
 * Turns the runner's TAP into a report for a terminal and a log alike: a line for each test file as it ends, and
 * below a failed one what failed and why. tap's own reports redraw the screen; in a log they say nothing until
 * all is over.
 */
export class TapReport {
  /** Assertions of all files, as the runner counts them. Undefined until it has. */
  counts;
  /** Names of the files that failed. */
  failedFiles = [];
  #write;
  /** Names of the enclosing tests, the file's first. */
  #path = [];
  /** What the current file's line will be followed by. */
  #details = [];
  /** What becomes of the YAML block that comes next, or is being read: each line of it, to text or nothing. */
  #explain = ignore;
  #isExplaining = false;

  constructor(write) {
    this.#write = write;
  }

  /** Takes the next line of TAP, without its end. */
  line(line) {
    const text = line.trimStart();
    const depth = (line.length - text.length) / 4;
    if (this.#isExplaining) this.#explanation(line, text);
    else if (text === '---') this.#isExplaining = true;
    else this.#event(line, text, depth);
  }

  #explanation(line, text) {
    if (text === '...') this.#isExplaining = false;
    else this.#explain(line);
  }

  #event(line, text, depth) {
    const subtest = /^# Subtest: (.*)/.exec(text);
    const result = /^(not )?ok \d+(?: - )?(.*?)(?: # time=(\S+)ms)?( # (?:SKIP|TODO).*)?$/.exec(text);
    const counts = /^# \{ (total: .*) \}$/.exec(text);
    if (subtest !== null) this.#path.splice(depth, Infinity, subtest[1]);
    else if (result !== null) {
      const [, not, name, time, excuse] = result;
      this.#result({ depth, name, time, isFailure: not !== undefined && excuse === undefined });
    } else if (counts !== null) this.counts = parseCounts(counts[1]);
    // What tests print themselves is shown; plans, times and empty lines say nothing new.
    else if (!/^(TAP version.*|1\.\.\d+.*|# (time=|No coverage).*|)$/.test(text)) this.#write(`${line}\n`);
  }

  #result({ depth, name, time, isFailure }) {
    this.#explain = ignore;
    if (depth === 0) this.#endFile({ name, time, isFailure });
    // A failed test repeats what failed in it, which has been told.
    else if (isFailure && time === undefined) {
      this.#details.push(`  ✖ ${[...this.#path.slice(1, depth), name].join(' > ')}`);
      const indent = depth * 4 + 2;
      this.#explain = line => this.#details.push(`      ${line.slice(indent)}`);
    }
  }

  #endFile({ name, time = 0, isFailure }) {
    const file = name.replace(/^build\//, '').replace(/\.js$/, '.ts');
    this.#write(`${isFailure ? 'FAIL' : 'ok  '} ${file} (${Math.round(time)} ms)\n`);
    for (const detail of this.#details) this.#write(`${detail}\n`);
    this.#details = [];
    if (!isFailure) return;
    this.failedFiles.push(file);
    this.#explain = line => {
      if (/^ {2}(exitCode|signal|expired): (?!null)/.test(line)) this.#write(`    ${line}\n`);
    };
  }
}

function ignore() {}

/** `total: 5, pass: 2` to `{ total: 5, pass: 2 }`. */
function parseCounts(text) {
  return Object.fromEntries(text.split(', ').map(pair => [pair.split(': ')[0], Number(pair.split(': ')[1])]));
}
