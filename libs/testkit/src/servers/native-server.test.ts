import { afterEach, expect, test } from 'vitest';
import { assertListening } from './free-port.ts';
import { type NativeRecipe, startNativeServer } from './native-server.ts';
import type { NativeServer } from './server.ts';

const stack = ['goroutine 147 [running]:', ...Array.from({ length: 20 }, (_, frame) => `main.frame${frame}()`)];
const portTaken = ['F1127 s3.go:448 listen tcp 127.0.0.1:15108: bind: address already in use', ...stack];
const broken = ['F1127 s3.go:448 no such folder', ...stack];

let started: NativeServer | undefined;

afterEach(async () => {
  await started?.stop();
  started = undefined;
});

/** A server whose first start prints these lines and ends; every other start listens. */
function endsFirst(lines: readonly string[]): NativeRecipe & { starts: number } {
  return {
    kind: 's3',
    portCount: 1,
    starts: 0,
    address: (port) => `127.0.0.1:${port}`,
    ping: (port) => assertListening('127.0.0.1', port),
    async prepare(folder, [port]) {
      const program =
        this.starts++ === 0
          ? `console.error(${JSON.stringify(lines.join('\n'))}); process.exit(255)`
          : `require('node:net').createServer().listen(${port}, '127.0.0.1')`;
      return { command: process.execPath, args: ['-e', program], folder };
    },
  };
}

test('a server whose port another process took is started on other ports, however long its stacks are', async () => {
  const recipe = endsFirst(portTaken);
  started = await startNativeServer(recipe, 'disk');
  expect(recipe.starts).toBe(2);
});

test('a server that ends for another reason is started once, and the reason is quoted', async () => {
  const recipe = endsFirst(broken);
  await expect(startNativeServer(recipe, 'disk')).rejects.toThrow('no such folder');
  expect(recipe.starts).toBe(1);
});
