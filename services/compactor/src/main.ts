/** The compactor process. At this stage it reports how large the log is and how fast it grows; it removes nothing. */

import { configFromEnv, failureReporter, logLine, openCluster, runService } from '@tidemark/host';
import { startGrowthReport } from '@tidemark/runtime';

await runService('compactor', async () => {
  const host = await openCluster(configFromEnv(process.env));
  const report = startGrowthReport({
    ports: host.ports,
    onReport: (growth) => logLine('info', 'log size', { ...growth }),
    onError: failureReporter(),
  });
  return {
    stop: async () => {
      await report.stop();
      await host.close();
    },
  };
});
