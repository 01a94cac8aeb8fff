#!/usr/bin/env node
/** The coordinator process: reads its settings, connects, and runs until it is asked to end. No logic of its own. */

import {
  apiConfigFromEnv,
  configFromEnv,
  failureReporter,
  loadPools,
  openCluster,
  runService,
  warningLine,
} from '@tidemark/host';
import { serveApi } from './serve.ts';

await runService('coordinator', async ({ answerProbes }) => {
  const config = configFromEnv(process.env);
  await answerProbes(config.healthListen);
  const apiConfig = apiConfigFromEnv(process.env);
  const pools = await loadPools(config.pools, process.cwd());
  const host = await openCluster(config, { onWarning: warningLine, listens: true });
  const onError = failureReporter();
  try {
    await host.startCoordinator({ onError, pools });
    const api = await serveApi(host, config, apiConfig, onError);
    return {
      isAsked: true,
      health: () => host.health(),
      async stop() {
        await api.close();
        await host.close();
      },
    };
  } catch (error) {
    await host.close();
    throw error;
  }
});
