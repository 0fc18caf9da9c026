import type { Setting, SettingGroup } from './kinds/kinds.ts';
import { SETTING_GROUPS } from './table.ts';

/** How values are written and read, for `docs/settings.md` and `sluice settings`. Names and samples stand in backquotes. */
const READING_RULES: readonly string[] = [
  'A setting with two names can be given by either name. If both variables are set, their values must be equal.',
  'A variable that is set to an empty value counts as set. For a bool, a number or a duration, an empty value is an error.',
  'If settings are invalid, Sluice does not start. The error message lists every invalid variable, its value (except ' +
    'that of a secret), and the accepted values.',
  'A number or duration outside its range is replaced by the nearest end of the range, and a warning is logged at ' +
    'startup. Some numbers outside their range are errors instead, because the nearest end is probably not what was ' +
    'meant: ports, how long tasks are kept, and counts and intervals for which `0` could mean "none" or "no limit".',
  'Choices are case-sensitive unless noted otherwise.',
  'bool: `true`, `True`, `TRUE`, `t`, `T`, `1`, or `false`, `False`, `FALSE`, `f`, `F`, `0`.',
  'whole number: decimal, `0x1F`, `0o17` or `0b101`. A leading zero means octal: `010` is 8. `_` may separate digits.',
  'duration: numbers with the units `ns`, `us`, `ms`, `s`, `m` and `h`, such as `1m30s` or `1.5h`. Only `0` needs no unit.',
];

/**
 * The settings whose names, description or group contain the pattern, in their groups. Groups without such a setting are
 * left out. Upper and lower case are the same.
 */
export function findSettings(pattern: string): readonly SettingGroup[] {
  const sought = pattern.toLowerCase();
  const contains = (text: string): boolean => text.toLowerCase().includes(sought);
  return SETTING_GROUPS.flatMap(group => {
    if (contains(group.title)) return [group];
    const found = Object.entries(group.settings).filter(([, { names, help }]) => {
      return names.some(contains) || contains(help);
    });
    return found.length === 0 ? [] : [{ ...group, settings: Object.fromEntries(found) }];
  });
}

/** Settings for a terminal with this many columns; ends with a line feed. */
export function settingsHelp(groups: readonly SettingGroup[], columns: number): string {
  const rules = READING_RULES.map(rule => wrapped(rule, '  ', columns));
  const sections = groups.map(group => groupHelp(group, columns));
  return `${[...sections, ['How values are read', ...rules].join('\n')].join('\n\n')}\n`;
}

function groupHelp(group: SettingGroup, columns: number): string {
  const introduction = wrapped(group.introduction, '  ', columns);
  const settings = Object.values(group.settings).map(setting => settingHelp(setting, columns));
  return [group.title, introduction, ...settings].join('\n');
}

function settingHelp(setting: Setting<unknown>, columns: number): string {
  const defaultText = setting.defaultText === '' ? 'empty' : setting.defaultText;
  return [
    wrapped(setting.names.join(', '), '  ', columns),
    wrapped(setting.help, '      ', columns),
    wrapped(`(${setting.kind.label}; default: ${defaultText})`, '      ', columns),
  ].join('\n');
}

/** The text without backquotes, in indented lines that are broken at spaces. */
function wrapped(text: string, indentation: string, columns: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.replaceAll('`', '').split(' ')) {
    if (line !== '' && indentation.length + line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].map(each => indentation + each).join('\n');
}

const INTRODUCTION =
  'Sluice reads its settings from environment variables, once at startup. `sluice settings` prints this reference on a ' +
  'terminal, and `sluice settings WORD` prints the settings that contain a word.';

/** `docs/settings.md`, the reference of all settings: how values are written, then a table for each group. */
export function settingsPage(): string {
  const rules = READING_RULES.map(rule => `- ${rule}`).join('\n');
  const sections = ['# Settings', INTRODUCTION, '## How values are read', rules];
  return `${[...sections, ...SETTING_GROUPS.map(groupMarkdown)].join('\n\n')}\n`;
}

function groupMarkdown(group: SettingGroup): string {
  const rows = Object.values(group.settings).map(settingRow);
  const head = ['| Setting | Type | Default | Description |', '|---|---|---|---|'];
  return [`## ${group.title}`, '', cell(group.introduction), '', ...head, ...rows].join('\n');
}

function settingRow(setting: Setting<unknown>): string {
  const names = setting.names.map(code).join(', ');
  return `| ${names} | ${cell(setting.kind.label)} | ${cell(defaultCell(setting))} | ${cell(setting.help)} |`;
}

/** A derived default is a sentence about other settings and carries its own backquotes. */
function defaultCell(setting: Setting<unknown>): string {
  if (setting.default === null) return setting.defaultText;
  return setting.defaultText === '' ? 'empty' : code(setting.defaultText);
}

function code(text: string): string {
  return `\`${text}\``;
}

const PAGE = /\bdocs\/([a-z/-]+\.md)/g;

/**
 * Text for a table cell. Outside of backquotes, pages of `docs/` become links, and `|`, `*`, `_` and `<`, which Markdown
 * would interpret, are escaped.
 */
function cell(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) =>
      index % 2 === 1 ? part : part.replace(/[|*_<]/g, '\\$&').replace(PAGE, '[$1]($1)'),
    )
    .join('');
}
