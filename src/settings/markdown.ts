import type { Setting, SettingGroup } from './kinds/setting.ts';
import { READING_RULES } from './reading-rules.ts';
import { SETTING_GROUPS } from './table.ts';

/** Between these lines the README holds {@link settingsMarkdown}. */
export const SETTINGS_START = '<!-- settings:start -->';
export const SETTINGS_END = '<!-- settings:end -->';

/** The reference of all settings: the reading rules, then one table a group. Ends without a line feed. */
export function settingsMarkdown(): string {
  const rules = READING_RULES.map(rule => `- ${rule}`).join('\n');
  return [rules, ...SETTING_GROUPS.map(groupMarkdown)].join('\n\n');
}

function groupMarkdown(group: SettingGroup): string {
  const rows = Object.values(group.settings).map(settingRow);
  return [`### ${group.title}`, '', '| Name(s) | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}

function settingRow(setting: Setting<unknown>): string {
  const names = setting.names.map(code).join(', ');
  return `| ${names} | ${cell(defaultCell(setting))} | ${cell(`${setting.help} (${setting.kind.label})`)} |`;
}

/** A derived default is a sentence about other settings and carries its own backquotes. */
function defaultCell(setting: Setting<unknown>): string {
  if (setting.default === null) return setting.defaultText;
  return setting.defaultText === '' ? 'empty' : code(setting.defaultText);
}

function code(text: string): string {
  return `\`${text}\``;
}

/** A bar would end the cell, `*` and `_` begin emphasis, `<` a tag. Backquoted samples stay as they are. */
function cell(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/[|*_<]/g, '\\$&')))
    .join('');
}

/**
 * The README with its table of settings made anew.
 * @throws Error when the two markers are not there once each, in order
 */
export function replaceSettingsTable(readme: string): string {
  const start = readme.split(SETTINGS_START);
  const end = readme.split(SETTINGS_END);
  if (start.length !== 2 || end.length !== 2 || start[0].length > end[0].length) {
    throw new Error(
      `the README must hold the line ${SETTINGS_START} once, and below it the line ${SETTINGS_END} once`,
    );
  }
  return `${start[0]}${SETTINGS_START}\n\n${settingsMarkdown()}\n\n${SETTINGS_END}${end[1]}`;
}
