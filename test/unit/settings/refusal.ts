import { SettingsRefused } from '../../../src/settings/faults.ts';
import { type Environment, loadSettings } from '../../../src/settings/load.ts';

/** What is said of the variables when they are refused; empty when they are accepted. */
export function refusal(env: Environment): string {
  try {
    loadSettings(env);
  } catch (refused) {
    if (refused instanceof SettingsRefused) return refused.message;
    throw refused;
  }
  return '';
}

/** The faults that the variables are refused for, a line each. */
export function faultLines(env: Environment): string[] {
  return refusal(env).split('\n').slice(1);
}
