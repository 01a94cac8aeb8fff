#!/usr/bin/env node
/** The worker process: reads its settings, loads the workflows it can run, connects, and runs until it is asked to end. */

import {
  configFromEnv,
  failureReporter,
  inClusterApi,
  keepDeletionCost,
  leaveWhenIdle,
  loadDefinitions,
  openCluster,
  runService,
  warningLine,
  watchSpotNotice,
} from '@tidemark/host';

await runService('worker', async ({ leave, answerProbes }) => {
  const config = configFromEnv(process.env);
  await answerProbes(config.healthListen);
  const definitions = await loadDefinitions(config.workflowModules, process.cwd());
  const host = await openCluster(config, { onWarning: warningLine });
  const onError = failureReporter();
  const worker = await host.startWorker({ definitions, concurrency: config.concurrency, onError });
  watchSpotNotice({ ...config.spotNotice, onNotice: leave, onError });
  const of = () => worker.uncheckpointed;
  leaveWhenIdle({ idleMs: config.exitIdleMs, of, onIdle: leave, clock: host.ports.clock });
  if (config.podName !== '') {
    keepDeletionCost({ api: inClusterApi(process.env), pod: config.podName, of, onError });
  }
  return { stop: () => host.close(config.drainMs), drainMs: config.drainMs, health: () => host.health() };
});
