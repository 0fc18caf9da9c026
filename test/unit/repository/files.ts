import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** What git keeps or would keep. */
function filesOfGit(root: string): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const listed = execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return listed.split('\0').filter(path => path !== '' && existsSync(join(root, path)));
}

/** The same without git, in an unpacked archive. */
export function filesOnDisk(root: string, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name);
    if (/^(\.git|\.tap|node_modules|build|data)$/.test(entry.name)) return [];
    return entry.isDirectory() ? filesOnDisk(root, path) : entry.isFile() ? [path] : [];
  });
}

/** The files of the repository, by path. */
export function repositoryFiles(root: string): string[] {
  try {
    return filesOfGit(root);
  } catch {
    return filesOnDisk(root);
  }
}
