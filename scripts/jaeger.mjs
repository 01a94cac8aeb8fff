/**
 * Owns `npm run jaeger`: builds Jaeger from its Go module once (some minutes; kept in .cache), and runs the test that compares what it
 * stores of a run with what an export of that run draws.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const VERSION = '1.76.0';
const root = path.resolve(import.meta.dirname, '..');
const folder = path.join(root, '.cache/jaeger');
const binary = path.join(folder, `jaeger-${VERSION}`);

function run(command, args, options = {}) {
  const { status, stdout, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
  if (error !== undefined || status !== 0) {
    console.error(`${command} ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}.`);
    process.exit(status ?? 1);
  }
  return stdout;
}

if (!existsSync(binary)) {
  console.error(`Building Jaeger ${VERSION} (once, some minutes)…`);
  const env = { ...process.env, GOFLAGS: '-mod=mod' };
  const told = run('go', ['mod', 'download', '-json', `github.com/jaegertracing/jaeger@v${VERSION}`], {
    cwd: tmpdir(),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const work = mkdtempSync(path.join(tmpdir(), 'jaeger-'));
  const source = path.join(work, 'source');
  cpSync(JSON.parse(String(told)).Dir, source, { recursive: true });
  run('chmod', ['-R', 'u+w', source]);
  run('go', ['build', '-o', path.join(work, 'jaeger'), './cmd/jaeger'], { cwd: source, env });
  mkdirSync(folder, { recursive: true });
  cpSync(path.join(work, 'jaeger'), `${binary}.new`);
  renameSync(`${binary}.new`, binary);
  rmSync(work, { recursive: true, force: true });
}
run(process.execPath, [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'test/e2e/jaeger.test.ts'], {
  cwd: root,
  env: { ...process.env, TIDEMARK_JAEGER: 'yes' },
});
