/**
 * Converts the TAP output of groups of test files to that of files in processes of their own: the files of a group are
 * one level deeper. A file that a group has not run, because a file before it ended the process, fails.
 */
export class UngroupedTap {
  #groups;
  #write;
  /** The files of the current group that have not ended; undefined outside of groups. */
  #rest;
  #hasFailed = false;

  /** `groups` has the files of each group by the name of its entry. `write` receives the converted lines. */
  constructor(groups, write) {
    this.#groups = groups;
    this.#write = write;
  }

  /** Handles the next line of TAP, without its line break. */
  line(line) {
    if (this.#rest === undefined) this.#outside(line);
    else if (line === '' || line.startsWith('    ')) this.#inside(line.slice(4));
    else this.#groupEnd(line);
  }

  #outside(line) {
    const files = this.#groups.get(/^# Subtest: (.*)/.exec(line)?.[1]);
    if (files === undefined) this.#write(line);
    else {
      this.#rest = new Set(files);
      this.#hasFailed = false;
    }
  }

  #inside(line) {
    const [, not, name] = /^(not )?ok \d+ - (\S+)/.exec(line) ?? [];
    if (this.#rest.delete(name) && not !== undefined) this.#hasFailed = true;
    this.#write(line);
  }

  #groupEnd(line) {
    for (const file of this.#rest) {
      this.#write(`# Subtest: ${file}`);
      this.#write(`    not ok 1 - ${file} has not ended, because its process did`);
      this.#write(`not ok 1 - ${file}`);
      this.#hasFailed = true;
    }
    this.#rest = undefined;
    // The result of a group with a failed file is that of the file.
    if (line.startsWith('not ok') && !this.#hasFailed) this.#write(line);
  }
}
