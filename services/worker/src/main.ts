#!/usr/bin/env node
/** The worker process: reads its settings, loads the workflows it can run, connects, and runs until it is asked to end. */

import {
  configFromEnv,
  failureReporter,
  inClusterApi,
  keepDeletionCost,
  leaveWhenIdle,
  loadDefinitions,
  logLine,
  noSpotNotice,
  openCluster,
  runService,
  warningLine,
  warnOfUnprobed,
  watchSpotNotice,
} from '@tidemark/host';
import { registerDefinitions } from './register.ts';

await runService('worker', async ({ leave, answerProbes }) => {
  const config = configFromEnv(process.env);
  await answerProbes(config.healthListen);
  const definitions = await loadDefinitions(config.workflowModules, process.cwd());
  warnOfUnprobed();
  const onError = failureReporter();
  // A worker that left by a notice is restarted on the same machine, which will end: it stays, unready, and takes no work.
  const onNotice = (source: string): void =>
    logLine('warn', 'worker waits on a machine that is being reclaimed', { source });
  await noSpotNotice({ url: config.spotNoticeUrl, onNotice, onError });
  const host = await openCluster(config, { onWarning: warningLine, listens: true });
  const { concurrency, build } = config;
  const worker = await host.startWorker({ definitions, concurrency, build, onError });
  const ending = new AbortController();
  void registerDefinitions(host, definitions, ending.signal);
  watchSpotNotice({ url: config.spotNoticeUrl, onNotice: leave, onError });
  const of = () => worker.uncheckpointed;
  leaveWhenIdle({ idleMs: config.exitIdleMs, of, onIdle: leave, clock: host.ports.clock });
  if (config.podName !== '') {
    keepDeletionCost({ api: inClusterApi(process.env), pod: config.podName, of, onError });
  }
  const stop = (): Promise<void> => {
    // What it still writes ends with the host: work under way is drained first.
    ending.abort();
    return host.close(config.drainMs);
  };
  return { stop, drainMs: config.drainMs, health: () => host.health() };
});
