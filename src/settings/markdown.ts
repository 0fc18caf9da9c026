import type { Setting, SettingGroup } from './kinds/setting.ts';
import { READING_RULES } from './reading-rules.ts';
import { SETTING_GROUPS } from './table.ts';

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

const PAGE = /\bdocs\/([a-z/-]+\.md)/g;
