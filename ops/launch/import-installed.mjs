import { REPAIR, StepFailure } from './step.mjs';

/** What Node.js says when a file of a package is missing, or is no longer what was installed. */
const CODES = new Set([
  'ERR_MODULE_NOT_FOUND',
  'MODULE_NOT_FOUND',
  'ERR_PACKAGE_PATH_NOT_EXPORTED',
  'ERR_INVALID_PACKAGE_CONFIG',
  'ERR_DLOPEN_FAILED',
]);

/** Imports a module. Failures that come from missing or damaged files tell the command that repairs them. */
export async function importInstalled(url) {
  try {
    return await import(url);
  } catch (failure) {
    if (!CODES.has(failure?.code) && !(failure instanceof SyntaxError)) throw failure;
    throw new StepFailure(`Installed files are missing or damaged: ${failure.message}\n${REPAIR}`);
  }
}
