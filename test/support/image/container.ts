import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../child-process.ts';
import type { Teardown } from '../temp-directory.ts';
import type { Image } from './image.ts';

export interface ContainerOptions {
  /** In place of the image's entrypoint and command. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** In place of the image's. */
  readonly workingDirectory?: string;
  /** Directories of this machine by where they are mounted, with `:ro` behind them if they are not to be written. */
  readonly volumes?: Readonly<Record<string, string>>;
  /** Default: read-only, as the deployments that were looked at have it. */
  readonly root?: 'read-only' | 'writable';
}

const PATIENCE_MS = 60_000;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Sets up the root as an engine does, then becomes the program: as the image's user, without capabilities, unable to
 * gain any, and as process 1. Parameters: root, mode, user, group, working directory, number of volumes, two words for
 * each of them, the program and its arguments.
 */
const SET_UP = `
set -e
root=$1 mode=$2 user=$3 group=$4 folder=$5 volumes=$6
shift 6
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
for name in hosts resolv.conf; do
  : > "$root/etc/$name"
  mount --bind "/etc/$name" "$root/etc/$name"
done
while [ "$volumes" -gt 0 ]; do
  mkdir -p "$root$2"
  mount --bind "\${1%:ro}" "$root$2"
  case "$1" in *:ro) mount -o remount,bind,ro "$root$2" ;; esac
  shift 2
  volumes=$((volumes - 1))
done
[ "$mode" = writable ] || mount -o remount,bind,ro "$root"
exec chroot "$root" /usr/bin/setpriv --reuid="$user" --regid="$group" --clear-groups --no-new-privs \\
  --bounding-set=-all --inh-caps=-all -- /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
`;

/** A program that runs in an image as in a container, on this machine's network. */
export class Container {
  readonly child: Child;

  constructor(t: Teardown, image: Image, options: ContainerOptions = {}) {
    const volumes = Object.entries(options.volumes ?? {});
    const [user, group] = image.user.split(':');
    const args = [
      image.root,
      options.root ?? 'read-only',
      user,
      group,
      options.workingDirectory ?? image.workingDirectory,
      String(volumes.length),
      ...volumes.flatMap(([target, source]) => [source, target]),
      // Only what an engine sets; the test runner would add more.
      '/usr/bin/env',
      '-i',
      ...Object.entries({ PATH, HOME: '/nonexistent', ...image.env, ...options.env }).map(pair =>
        pair.join('='),
      ),
      ...(options.command ?? [...image.entrypoint, ...image.command]),
    ];
    this.child = new Child({
      command: 'unshare',
      args: [
        '--mount',
        '--propagation',
        'private',
        '--pid',
        '--fork',
        '--kill-child',
        'sh',
        '-c',
        SET_UP,
        'sh',
        ...args,
      ],
      env: { PATH },
    });
    t.teardown(() => this.child.end('SIGKILL', PATIENCE_MS).then(() => {}));
  }

  /** The process id, outside of the container, of the program that is process 1 inside. */
  get pid(): number {
    const { pid } = this.child;
    return Number(readFileSync(join('/proc', `${pid}`, 'task', `${pid}`, 'children'), 'utf8').split(' ')[0]);
  }

  /** A line of what the kernel says of the program, such as `Uid`. */
  status(name: string): string {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return new RegExp(`^${name}:\\t(.*)$`, 'm').exec(status)?.[1] ?? '';
  }

  /** Waits for a line of its log. */
  logged(pattern: RegExp): Promise<string> {
    return this.child.line(line => (pattern.test(line) ? line : undefined), PATIENCE_MS);
  }

  /** Stops it as an engine does. */
  stop(): Promise<{ status: number | null; signal: string | null }> {
    process.kill(this.pid, 'SIGTERM');
    return this.child.ended;
  }
}
