/** Pools of workers: read by name and modules, and made of what the modules export. */

import path from 'node:path';
import { ConfigError } from '@tidemark/core';
import { expect, test } from 'vitest';
import { configFromEnv } from './config.ts';
import { loadPools } from './load-definitions.ts';

const poolsIn = (text: string) =>
  configFromEnv({
    TIDEMARK_KAFKA_BROKERS: 'kafka:9092',
    TIDEMARK_REDIS_URL: 'redis://redis',
    TIDEMARK_POSTGRES_URL: 'postgres://postgres/tidemark',
    TIDEMARK_ENCRYPTION: 'off',
    TIDEMARK_POOLS: text,
  }).pools;

const patterns = path.join(import.meta.dirname, '../../../../examples/patterns/src');

test('are read from the environment', () => {
  expect(poolsIn('')).toEqual([]);
  expect(poolsIn('pay=./a.ts, @org/b;crawl-2=./c.ts')).toEqual([
    { name: 'pay', modules: ['./a.ts', '@org/b'] },
    { name: 'crawl-2', modules: ['./c.ts'] },
  ]);
});

test.each(['pay', 'pay=', 'Pay=./a.ts', '-=./a.ts', 'pay=./a.ts;', 'a=./a.ts=./b.ts'])('%s is refused', (text) => {
  expect(() => poolsIn(text)).toThrow(/TIDEMARK_POOLS: expected NAME=MODULE/);
});

test('take the work of what their modules export', async () => {
  expect(await loadPools([], patterns)).toBeUndefined();
  const pools = await loadPools(
    [
      { name: 'loops', modules: ['./loop.ts'] },
      { name: 'both', modules: ['./loop.ts', './fan-out.ts'] },
    ],
    patterns,
  );
  expect(pools?.map(({ name, definitions }) => [name, [...(definitions ?? [])].length])).toEqual([
    ['loops', 1],
    ['both', 2],
  ]);
});

test('are named once, and their modules are there', async () => {
  const loop = { name: 'loops', modules: ['./loop.ts'] };
  await expect(loadPools([loop, loop], patterns)).rejects.toThrow(expect.objectContaining({ code: 'pool-twice' }));
  await expect(loadPools([{ name: 'none', modules: ['./none.ts'] }], patterns)).rejects.toThrow(ConfigError);
});
