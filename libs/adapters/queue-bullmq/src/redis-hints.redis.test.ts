/** Runs the contract of HintBus on Redis, and checks that it sends few messages. */

import type { Partition } from '@tidemark/core';
import { hintBusContract } from '@tidemark/testkit/contracts/hint-bus';
import { eventually } from '@tidemark/testkit/eventually';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { expect, test } from 'vitest';
import { HINT_PERIOD_MS, openRedisHints } from './redis-hints.ts';

describeServers('redis hints', ['redis'], ({ redis: url }) => {
  hintBusContract('redis', async () => {
    const prefix = freshRedisPrefix();
    const bus = openRedisHints({ url, prefix });
    const others: ReturnType<typeof openRedisHints>[] = [];
    return {
      bus,
      async another() {
        const other = openRedisHints({ url, prefix });
        others.push(other);
        return other;
      },
      async close() {
        await Promise.all([bus, ...others].map((each) => each.close()));
      },
    };
  });

  test('what is hinted one by one within some milliseconds goes out in few messages, the first at once, the last when it is closed', async () => {
    const prefix = freshRedisPrefix();
    const [sender, hearer] = [openRedisHints({ url, prefix }), openRedisHints({ url, prefix })];
    try {
      const heard: (readonly Partition[])[] = [];
      await hearer.subscribe('appended', (partitions) => heard.push(partitions));
      sender.publish('appended', 0 as Partition);
      await eventually(() => heard.length === 1, { what: 'the first' });
      let sent = 0;
      for (const untilMs = performance.now() + 10 * HINT_PERIOD_MS; performance.now() < untilMs; ) {
        // Many at once: a busy machine gives few turns.
        for (let at = 0; at < 20; at++) sender.publish('appended', ++sent as Partition);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const last = (sent + 1) as Partition;
      sender.publish('appended', last);
      await sender.close();
      await eventually(() => heard.at(-1)?.includes(last), { what: 'the last' });
      expect(heard.flat()).toEqual(Array.from({ length: last + 1 }, (_, index) => index));
      expect(heard.length).toBeLessThan(sent / 2);
    } finally {
      await Promise.all([sender.close(), hearer.close()]);
    }
  });
});
