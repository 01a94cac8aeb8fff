/**
 * Owns running the project's tools from its scripts: always with the Node of the project, so that a script started
 * by an older Node still works, and never outliving the script.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../', import.meta.url));
const nodeMajor = 24;
const localNode = path.join(root, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');
const runsHere = Number(process.versions.node.split('.')[0]) >= nodeMajor;
const node = !runsHere && existsSync(localNode) ? localNode : process.execPath;

/**
 * Runs a script with Node; resolves with its exit code (130 for Ctrl-C) and, when `capture` is set, what it printed.
 * @param {readonly string[]} args
 * @param {{ capture?: boolean }} options
 * @returns {Promise<{ code: number, output: string }>}
 */
export async function runNode(args, { capture = false } = {}) {
  const child = spawn(node, args, { cwd: root, stdio: ['ignore', capture ? 'pipe' : 1, capture ? 'pipe' : 2] });
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => chunks.push(chunk));
  // Ctrl-C reaches the child by itself; this process waits for it to clean up. SIGTERM has to be passed on.
  const forward = () => child.kill('SIGTERM');
  const ignore = () => undefined;
  process.on('SIGTERM', forward);
  process.on('SIGINT', ignore);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve(exitCode ?? (signal === 'SIGINT' ? 130 : 143)));
  });
  process.off('SIGTERM', forward);
  process.off('SIGINT', ignore);
  return { code, output: Buffer.concat(chunks).toString('utf8') };
}
