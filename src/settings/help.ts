import type { Setting, SettingGroup } from './kinds/setting.ts';
import { READING_RULES } from './reading-rules.ts';
import { SETTING_GROUPS } from './table.ts';

/** Terminals and mails that are narrower break lines anywhere. */
const MAX_COLUMNS = 100;

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

/** Settings for a terminal: no line is longer than 100 columns; ends with a line feed. */
export function settingsHelp(groups: readonly SettingGroup[] = SETTING_GROUPS): string {
  const rules = READING_RULES.map(rule => wrapped(rule, '  '));
  return `${[...groups.map(groupHelp), ['How values are read', ...rules].join('\n')].join('\n\n')}\n`;
}

function groupHelp(group: SettingGroup): string {
  const introduction = wrapped(group.introduction, '  ');
  return [group.title, introduction, ...Object.values(group.settings).map(settingHelp)].join('\n');
}

function settingHelp(setting: Setting<unknown>): string {
  const defaultText = setting.defaultText === '' ? 'empty' : setting.defaultText;
  return [
    `  ${setting.names.join(', ')}`,
    wrapped(setting.help, '      '),
    wrapped(`(${setting.kind.label}; default: ${defaultText})`, '      '),
  ].join('\n');
}

/** Takes off backquotes and breaks at spaces, so that no line is longer than {@link MAX_COLUMNS}. */
function wrapped(text: string, indentation: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.replaceAll('`', '').split(' ')) {
    if (line !== '' && indentation.length + line.length + 1 + word.length > MAX_COLUMNS) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].map(each => indentation + each).join('\n');
}
