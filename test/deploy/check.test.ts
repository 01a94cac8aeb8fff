/** What deploy/check.sh says of itself: a check that wasn't made is told as such. */

import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projectFolder } from './deployment.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-check-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What deploy/check/image.sh prints with an engine whose images have this command. Rejects when it fails. */
async function checkedWithDocker(command: string): Promise<string> {
  const config = {
    ...{ Cmd: [command], User: '1000:1000', Env: ['TIDEMARK_WORKFLOWS=./workflows/greeting.ts'] },
    Healthcheck: { Test: ['CMD', 'tidemark-entrypoint', 'healthy'] },
  };
  const engine = `#!/bin/sh
case "$*" in
  *' coordinator') echo '{"code":"setting-invalid"}'; exit 78 ;;
  'image inspect '*) echo '${JSON.stringify([{ Config: config }], null, 4)}' ;;
  'image ls '*) echo 200MB ;;
esac
`;
  const docker = path.join(folder, 'docker');
  await writeFile(docker, engine);
  await chmod(docker, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const { stdout } = await promisify(execFile)('bash', ['deploy/check/image.sh'], { cwd: projectFolder, env });
  return stdout;
}

test('with Docker the image of a worker is looked at, sizes are told, and that no service was run', async () => {
  const lines = (await checkedWithDocker('worker')).split('\n');
  expect(lines).toContain('ok       examples/worker-image: built on the base image of workers');
  expect(lines.filter((line) => line.startsWith('size'))).toHaveLength(3);
  expect(lines.filter((line) => line.startsWith('skipped'))).toEqual([
    expect.stringContaining('image: the services were not run'),
  ]);
});

test('an image that starts something else fails', async () => {
  await expect(checkedWithDocker('coordinator')).rejects.toThrow();
});
