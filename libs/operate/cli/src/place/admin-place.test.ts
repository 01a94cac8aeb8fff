/** What is done to a cluster without an open host is recorded, however it ends. */

import { ConfigError } from '@tidemark/core';
import { expect, it } from 'vitest';
import { recorded } from './admin-place.ts';

it.each([
  ['done', undefined, undefined, [['0021-b', undefined]]],
  ['failed after a part of it', new ConfigError('store-older', ''), 'store-older', [['0021-b', 'store-older']]],
  ['failed by no error of ours', new Error('no'), 'no', [['0021-b', 'internal']]],
])('%s', async (_, failure, thrown, entries) => {
  const written: unknown[] = [];
  let newest: string | undefined;
  const work = async (): Promise<string> => {
    newest = '0021-b';
    if (failure !== undefined) throw failure;
    return 'report';
  };
  const ended = recorded(
    work,
    () => (newest === undefined ? undefined : { action: 'migrate', target: newest }),
    async ({ target }, code) => {
      written.push([target, code]);
    },
  );
  if (thrown === undefined) expect(await ended).toBe('report');
  else await expect(ended).rejects.toBe(failure);
  expect(written).toEqual(entries);
});

it('what changed nothing is not recorded', async () => {
  const failing = () => Promise.reject(new Error('away'));
  const write = () => Promise.reject(new Error('written'));
  await expect(recorded(failing, () => undefined, write)).rejects.toThrow('away');
});
