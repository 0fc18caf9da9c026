import { SettingsRefused } from '../../../src/settings/faults.ts';
import { type Environment, loadSettings } from '../../../src/settings/load.ts';

/** The faults that the variables are refused for, a line each. */
export function faultLines(env: Environment): string[] {
  try {
    loadSettings(env);
  } catch (refusal) {
    if (refusal instanceof SettingsRefused) return refusal.message.split('\n').slice(1);
    throw refusal;
  }
  return [];
}
