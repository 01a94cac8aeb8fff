import type { RejectedRow } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { checkRejected } from './health.ts';

const found = (...reasons: readonly string[]) =>
  checkRejected(
    { store: { counts: { rejectedCount: reasons.length } } } as Parameters<typeof checkRejected>[0],
    reasons.map((reason, offset) => ({ reason, partition: 0, offset }) as unknown as RejectedRow),
  );

it('takes repetitions and zombies that were kept out for what they are', () => {
  const plain = found('duplicate', 'closed', 'not-asked', 'stale-epoch', 'wrong-holder');
  expect(plain).toMatchObject({ level: 'ok', message: expect.stringContaining('nothing is to be done') });
});

it('warns of another writer only for what none of ours would write, and names that', () => {
  const odd = found('duplicate', 'malformed', 'closed');
  expect(odd).toMatchObject({
    level: 'warn',
    remedy: expect.stringContaining('for malformed: the newest is malformed'),
  });
  expect(odd).toMatchObject({ remedy: expect.stringContaining('partition 0, offset 1') });
});
