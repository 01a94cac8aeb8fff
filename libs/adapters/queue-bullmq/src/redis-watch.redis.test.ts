/** Runs the contract of WatchBus on Redis. */

import { watchBusContract } from '@tidemark/testkit/contracts/watch-bus';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { openRedisWatch } from './redis-watch.ts';

describeServers('redis watch', ['redis'], ({ redis: url }) => {
  watchBusContract('redis', async () => {
    const prefix = freshRedisPrefix();
    const bus = openRedisWatch({ url, prefix });
    const others: ReturnType<typeof openRedisWatch>[] = [];
    return {
      bus,
      async another() {
        const other = openRedisWatch({ url, prefix });
        others.push(other);
        return other;
      },
      async close() {
        await Promise.all([bus, ...others].map((each) => each.close()));
      },
    };
  });
});
