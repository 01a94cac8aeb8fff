/** Owns the checks of a cluster: settings, each server by itself, then what is in the log and the rows. Prints no secret. */

import { messageOf } from '@tidemark/core';
import { type ClusterConfig, configFromEnv, openCluster } from '@tidemark/host';
import { EXIT, exitCodeOf } from '@tidemark/host/exit-codes';
import { hostPlace, ownName } from '../place/place.ts';
import type { Session } from '../session.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { checkHealth, checkLog } from './health.ts';

type Env = Readonly<Record<string, string | undefined>>;

const STAFF = { coordinator: 'a coordinator', worker: 'a worker' };

export async function checkCluster({ env }: Pick<Session, 'env'>): Promise<readonly Finding[]> {
  let config: ClusterConfig;
  try {
    config = configFromEnv(env);
  } catch (error) {
    return [
      fail('Settings', messageOf(error), 'Correct the environment; docs/cli.md lists the settings.', EXIT.config),
    ];
  }
  // Drivers that only this check needs.
  const { probeKafka, probePostgres, probeRedis } = await import('./probes.ts');
  const probes = await Promise.all([
    probeKafka(config.brokers, config.topic, config.tls.kafka),
    probeRedis(config.redisUrl, config.tls.redis),
    probePostgres(config.postgresUrl, config.tls.postgres),
  ]);
  const findings = [checkSettings(env), ...probes.flatMap((probe) => probe.findings)];
  return probes.every((probe) => probe.usable) ? [...findings, ...(await checkInside(config, ownName(env)))] : findings;
}

/** Names only: values may hold passwords. */
function checkSettings(env: Env): Finding {
  const names = Object.keys(env).filter((name) => name.startsWith('TIDEMARK_') && env[name] !== undefined);
  return ok('Settings', `${names.sort().join(', ')} set, all valid`);
}

async function checkInside(config: ClusterConfig, name: string): Promise<readonly Finding[]> {
  try {
    const warned: Finding[] = [];
    const onWarning = (_: string, message: string) =>
      warned.push(warn('Kafka', message, 'A trial can do with it; history that must last can not.'));
    const host = await openCluster(config, { onWarning });
    const place = await hostPlace(host, { name, shown: config.topic, isIdle: false, definitions: [] });
    try {
      return [...warned, await checkLog(host), ...(await checkHealth(place, STAFF))];
    } finally {
      await place.close();
      await host.close();
    }
  } catch (error) {
    return [fail('Opening', messageOf(error), 'See the line of the server that it names.', exitCodeOf(error))];
  }
}
