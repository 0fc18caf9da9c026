import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Of a package's files, images of `slim` leave these out. */
const LEFT_OUT = /^\/usr\/share\/(?:doc|info|locale|man|i18n|lintian|zoneinfo)\//;

/** Directories that are links in a system whose programs all lie below `/usr`. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];

/**
 * Fills `root` with what an image of a slim Debian holds, from the files of this machine: its essential packages, apt,
 * and all that these depend on. Nothing else of the machine is in it.
 */
export function fillSlimRoot(root: string): void {
  mkdirSync(join(root, 'usr'));
  for (const name of MERGED) {
    mkdirSync(join(root, 'usr', name));
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const name of ['dev', 'etc', 'proc', 'root', 'srv', 'tmp', 'var']) mkdirSync(join(root, name));
  const listed = output('dpkg-query', ['--listfiles', ...slimPackages()]);
  const files = listed
    .split('\n')
    .filter(path => path.startsWith('/') && path !== '/.' && !LEFT_OUT.test(path));
  // Listed directories come with their files; a file may be gone although its package is there.
  const archive = execFileSync(
    'tar',
    ['-c', '--no-recursion', '--ignore-failed-read', '--warning=none', '-C', '/', '--null', '-T', '-'],
    {
      input: [...new Set(files)].map(path => path.slice(1)).join('\0'),
      maxBuffer: 1024 ** 3,
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  execFileSync('tar', ['-x', '--keep-directory-symlink', '-C', root], { input: archive });
  for (const name of ['passwd', 'group'])
    copyFileSync(join(root, `usr/share/base-passwd/${name}.master`), join(root, 'etc', name));
}

function slimPackages(): string[] {
  const fields = ['Package', 'Essential', 'Pre-Depends', 'Depends'];
  const format = `${fields.map(field => `\${${field}}`).join('\t')}\n`;
  const rows = output('dpkg-query', ['--show', `--showformat=${format}`])
    .trimEnd()
    .split('\n')
    .map(row => row.split('\t'));
  const dependencies = new Map(rows.map(([name, , ...depends]) => [name, names(depends.join(','))]));
  const wanted = new Set(rows.filter(([, essential]) => essential === 'yes').map(([name]) => name));
  wanted.add('apt');
  // A set yields what is added while it is walked.
  for (const name of wanted)
    for (const each of dependencies.get(name) ?? []) if (dependencies.has(each)) wanted.add(each);
  return [...wanted].filter(name => dependencies.has(name));
}

/** `libc6 (>= 2.34), debconf (>= 0.5) | debconf-2.0` to the names of the first alternatives. */
function names(depends: string): string[] {
  return depends
    .split(',')
    .map(part => part.trim().split(/[ |:(]/)[0])
    .filter(name => name !== '');
}

function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
}
