/**
 * Converts the TAP output of the test runner to a report for terminals and logs: one line for each finished test file,
 * followed by its failures. The reports of tap redraw the screen, so they show nothing in a log until the end.
 */
export class TapReport {
  /** Number of tests without nested tests. */
  counts = { passed: 0, failed: 0, skipped: 0 };
  /** True if the runner has reported all files. */
  isComplete = false;
  /** Names of the files that failed. */
  failedFiles = [];
  /** Names of the files whose processor time is known, with this time and their duration in milliseconds. */
  times = [];
  #write;
  /** Names of the enclosing tests, starting with the file. */
  #path = [];
  /** Whether each of the enclosing tests contains nested tests. */
  #holdsTests = [];
  #failedInFile = 0;
  #cpuMs;
  /** Details to print after the line of the current file. */
  #details = [];
  /** Handles the lines of the current or next YAML block: prints or ignores them. */
  #explain = ignore;
  #isExplaining = false;

  constructor(write) {
    this.#write = write;
  }

  /** Handles the next line of TAP, without its line break. */
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
    const cpu = /^# cpu=(\d+)ms$/.exec(text);
    if (cpu !== null) this.#cpuMs = Number(cpu[1]);
    else if (subtest !== null) {
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
    // Output of tests is shown. Plans, times and empty lines are omitted.
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
    // A failed test with nested tests repeats their failures, which were already printed.
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
    if (this.#cpuMs !== undefined) this.times.push({ file, cpuMs: this.#cpuMs, timeMs: Number(time) });
    this.#cpuMs = undefined;
    // A file can also fail outside its tests.
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
