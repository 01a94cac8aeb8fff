/** The coordinator process: reads its settings, connects, and runs until it is asked to end. No logic of its own. */

import { configFromEnv, failureReporter, openCluster, runService, warningLine } from '@tidemark/host';

await runService('coordinator', async () => {
  const host = await openCluster(configFromEnv(process.env), { onWarning: warningLine });
  await host.startCoordinator({ onError: failureReporter() });
  return { stop: () => host.close() };
});
