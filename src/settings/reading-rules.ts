/** How values are written and read, for `docs/settings.md` and `sluice settings`. Names and samples stand in backquotes. */
export const READING_RULES: readonly string[] = [
  'A setting with two names can be given by either name. If both variables are set, their values must be equal.',
  'A variable that is set to an empty value counts as set. For a bool, a number or a duration, an empty value is an error.',
  'If settings are invalid, Sluice does not start. The error message lists every invalid variable, its value (except ' +
    'that of a secret), and the accepted values.',
  'A number or duration outside its range is replaced by the nearest end of the range, and a warning is logged at ' +
    'startup. It is an error if that end is unlikely to be what was meant: for ports, for how long tasks are kept, ' +
    'and for counts and intervals below their range whose `0` could mean "none" or "no limit".',
  'Choices are case-sensitive unless noted otherwise.',
  'bool: `true`, `True`, `TRUE`, `t`, `T`, `1`, or `false`, `False`, `FALSE`, `f`, `F`, `0`.',
  'whole number: decimal, `0x1F`, `0o17` or `0b101`. A leading zero means octal: `010` is 8. `_` may separate digits.',
  'duration: numbers with the units `ns`, `us`, `ms`, `s`, `m` and `h`, such as `1m30s` or `1.5h`. Only `0` needs no unit.',
];
