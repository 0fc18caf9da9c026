import { REPAIR, StepFailure } from './step.mjs';

/** Error codes of Node.js for files of packages that are missing or damaged. */
const CODES = new Set([
  'ERR_MODULE_NOT_FOUND',
  'MODULE_NOT_FOUND',
  'ERR_PACKAGE_PATH_NOT_EXPORTED',
  'ERR_INVALID_PACKAGE_CONFIG',
  'ERR_DLOPEN_FAILED',
]);

/** Imports a module. If files are missing or damaged, the error names the command that repairs them. */
export async function importInstalled(url) {
  try {
    return await import(url);
  } catch (failure) {
    if (!CODES.has(failure?.code) && !(failure instanceof SyntaxError)) throw failure;
    throw new StepFailure(`Installed files are missing or damaged: ${failure.message}\n${REPAIR}`);
  }
}
