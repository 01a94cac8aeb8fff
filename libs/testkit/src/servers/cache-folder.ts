/**
 * Owns the project's `.cache` folder and running installers into it. Invariant: content under its final name is complete, also when two
 * processes install at once or one is killed.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { UnavailableError } from '@tidemark/core';
import { installTimeoutMs } from './limits.ts';

const run = promisify(execFile);

export const projectFolder = fileURLToPath(new URL('../../../../', import.meta.url));

/** The folder `.cache/<name>`; when it is missing, `fill` creates its content in an empty folder that is then renamed. */
export async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const final = path.join(projectFolder, '.cache', name);
  if (existsSync(final)) return final;
  const building = `${final}.${randomBytes(4).toString('hex')}.tmp`;
  mkdirSync(building, { recursive: true });
  try {
    await fill(building);
    renameSync(building, final);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    if (!existsSync(final)) throw error;
  }
  return final;
}

/** Runs an installer; rejects with the last lines of its output. */
export async function runInstaller(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  try {
    await run(command, [...args], { timeout: installTimeoutMs, env: { ...process.env, ...env }, maxBuffer: 1 << 26 });
  } catch (error) {
    const { stdout = '', stderr = '', message = '' } = error as { stdout?: string; stderr?: string; message?: string };
    const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-3).join('\n');
    throw new UnavailableError('test-server-install', `${command} failed: ${said === '' ? message : said}`);
  }
}
