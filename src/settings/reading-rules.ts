/** How texts are read, for the README and `--help`. Names and samples stand in backquotes. */
export const READING_RULES: readonly string[] = [
  'Settings are environment variables and are read once, at start. A setting with two names may be ' +
    'given by either; given by both, the texts must be equal.',
  'A variable that is set to the empty text counts as set. For a bool, a number and a duration that is ' +
    'a fault.',
  'A fault stops the start. The message lists every fault: the variable, its text (never that of a ' +
    'secret), and what is accepted.',
  'A number or duration outside its range acts as the nearest end of the range, and a warning at start ' +
    'says so. It is a fault where that end would not be what was meant: for a port, for the time that ' +
    'tasks are kept, and for a count or interval below its range whose `0` could mean "none" or "no limit".',
  'Choices are written in the letter case shown, unless noted otherwise.',
  'bool: `true`, `True`, `TRUE`, `t`, `T`, `1`, or `false`, `False`, `FALSE`, `f`, `F`, `0`.',
  'whole number: decimal, `0x1F`, `0o17` or `0b101`. A leading zero means octal: `010` is 8. `_` may ' +
    'stand between digits.',
  'duration: numbers with the units `ns`, `us`, `ms`, `s`, `m`, `h`, such as `1m30s` or `1.5h`. Only ' +
    '`0` needs no unit.',
];
