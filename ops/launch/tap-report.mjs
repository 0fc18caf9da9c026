/**
 * Turns the runner's TAP into a report for a terminal and a log alike: a line for each test file as it ends, and
 * below a failed one what failed and why. tap's own reports redraw the screen; in a log they say nothing until
 * all is over.
 */
export class TapReport {
  /** Tests that hold no other tests, whatever the number of their assertions. */
  counts = { passed: 0, failed: 0, skipped: 0 };
  /** True when the runner has reported all files. */
  isComplete = false;
  /** Names of the files that failed. */
  failedFiles = [];
  #write;
  /** Names of the enclosing tests, the file's first. */
  #path = [];
  /** Whether each of them holds tests itself. */
  #holdsTests = [];
  #failedInFile = 0;
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
    if (subtest !== null) {
      this.#path.splice(depth, Infinity, subtest[1]);
      this.#holdsTests.splice(depth, Infinity, false);
      if (depth > 0) this.#holdsTests[depth - 1] = true;
    } else if (result !== null) {
      const [, not, name, time, excuse] = result;
      const isFailure = not !== undefined && excuse === undefined;
      if (excuse !== undefined) {
        this.counts.skipped++;
        if (depth > 0) this.#holdsTests[depth - 1] = true;
      }
      if (excuse === undefined && time !== undefined && this.#holdsTests[depth] !== true)
        this.#count(isFailure);
      this.#result({ depth, name, time, isFailure });
    } else if (/^# \{ total: .* \}$/.test(text)) this.isComplete = true;
    // What tests print themselves is shown; plans, times and empty lines say nothing new.
    else if (!/^(TAP version.*|1\.\.\d+.*|# (time=|No coverage).*|)$/.test(text)) this.#write(`${line}\n`);
  }

  #count(isFailure) {
    if (!isFailure) this.counts.passed++;
    else {
      this.counts.failed++;
      this.#failedInFile++;
    }
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
    // A file can also fail outside of its tests.
    if (isFailure && this.#failedInFile === 0) this.counts.failed++;
    this.#failedInFile = 0;
    if (!isFailure) return;
    this.failedFiles.push(file);
    this.#explain = line => {
      if (/^ {2}(exitCode|signal|expired): (?!null)/.test(line)) this.#write(`    ${line}\n`);
    };
  }
}

function ignore() {}
