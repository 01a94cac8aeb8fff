/** Runs the contract of HintBus on Redis. */

import { hintBusContract } from '@tidemark/testkit/contracts/hint-bus';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { openRedisHints } from './redis-hints.ts';

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
});
