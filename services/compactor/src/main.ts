#!/usr/bin/env node
/**
 * The compactor process: archives what is no longer hot, and reports how large the log is. Without an archive it only reports, and the log
 * grows without bound.
 */

import { configFromEnv, failureReporter, giveWay, logLine, openCluster, runService, warningLine } from '@tidemark/host';
import { startGrowthReport } from '@tidemark/runtime';

await runService('compactor', async ({ answerProbes }) => {
  // History can wait, and must not slow those that commit on the same machine.
  giveWay();
  const config = configFromEnv(process.env);
  await answerProbes(config.healthListen);
  const host = await openCluster(config, { onWarning: warningLine, listens: true });
  const onError = failureReporter();
  const report = startGrowthReport({
    ports: { ...host.ports, log: host.tiers?.hot ?? host.ports.log },
    onReport: (growth) => logLine('info', 'log size', { ...growth }),
    onError,
  });
  if (host.tiers === undefined) {
    logLine('warn', 'TIDEMARK_ARCHIVE_URL is not set: nothing is archived, and the log grows for ever');
  } else {
    const compactor = host.compactor({
      policy: { hotMs: config.tiers.hotMs },
      onError,
      onSegment: ({ workflows: _, ...segment }) => logLine('info', 'segment archived', { ...segment }),
    });
    compactor.start();
  }
  return {
    health: () => host.health(),
    stop: async () => {
      await report.stop();
      await host.close();
    },
  };
});
