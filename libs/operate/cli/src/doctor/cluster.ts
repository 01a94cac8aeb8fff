/** Owns the checks of a cluster: settings, each server by itself, then what is in the log and the rows. Prints no secret. */

import { messageOf } from '@tidemark/core';
import { type ClusterConfig, configFromEnv, kafkaSecurity, openCluster } from '@tidemark/host';
import { EXIT, exitCodeOf } from '@tidemark/host/exit-codes';
import { hostPlace, ownName } from '../place/place.ts';
import type { Session } from '../session.ts';
import { bytes } from '../text/units.ts';
import type { Locate } from './definition-places.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { checkHealth, checkLog } from './health.ts';
import { checkRecent } from './recent.ts';

/** Size of the log, in bytes, from which on `doctor` advises an archive. */
export const ARCHIVE_ADVISED_LOG_BYTES = 10_737_418_240;

type Env = Readonly<Record<string, string | undefined>>;

/** Kafka's brokers leave writing to disk to their systems: durability rests on replicas. */
const SURVIVED = {
  power: 'the loss of any one broker, not that of power for all at once',
  process: 'the death of every process, not the loss of its broker',
};

const STAFF = { coordinator: 'a coordinator', worker: 'a worker' };

export async function checkCluster({ env }: Pick<Session, 'env'>, locate: Locate): Promise<readonly Finding[]> {
  let config: ClusterConfig;
  try {
    config = configFromEnv(env);
  } catch (error) {
    return [
      fail('Settings', messageOf(error), 'Correct the environment; docs/deploy.md lists the settings.', EXIT.config),
    ];
  }
  // Drivers that only this check needs.
  const { probeKafka, probePostgres, probeRedis } = await import('./probes.ts');
  const probes = await Promise.all([
    probeKafka(config.brokers, config.topic, kafkaSecurity(config)),
    probeRedis(config.redisUrl, config.tls.redis),
    probePostgres(config.postgres),
  ]);
  const findings = [
    checkSettings(env),
    ...checkEncryption(config),
    ...probes.flatMap((probe) => probe.findings),
    ...checkRegions(probes.flatMap(({ racks = [] }) => racks)),
  ];
  if (!probes.every((probe) => probe.usable)) return findings;
  return [...findings, ...(await checkInside(config, ownName(env), locate))];
}

/** Names only: values may hold passwords. */
function checkSettings(env: Env): Finding {
  const names = Object.keys(env).filter((name) => name.startsWith('TIDEMARK_') && env[name] !== undefined);
  return ok('Settings', `${names.sort().join(', ')} set, all valid`);
}

/** Where encryption is on, opening fails without the key, so its absence needs no finding. */
export function checkEncryption({ keysUrl }: Pick<ClusterConfig, 'keysUrl'>): readonly Finding[] {
  if (keysUrl !== '') return [];
  const remedy =
    'Name a key in TIDEMARK_KEYS_URL, and set TIDEMARK_ENCRYPTION=on, in all processes; what is written from then on is encrypted.';
  return [warn('Encryption', 'off: a reader of Kafka, Postgres or the archive reads what workflows say', remedy)];
}

/** A rack that is named as clouds name their zones tells the region: `eu-west-1a`, `us-east1-b`. */
export function checkRegions(racks: readonly (string | null)[]): readonly Finding[] {
  const named = racks.map((rack) => /^([a-z]+(?:-[a-z]+)+-?\d+)-?[a-z]$/i.exec(rack ?? '')?.[1]?.toLowerCase());
  const regions = [...new Set(named.filter((region) => region !== undefined))].sort();
  if (regions.length < 2) return [];
  const message = `Kafka's brokers are in ${regions.length} regions (${regions.join(', ')}): every durable step waits for its replicas, which takes 100 to 300 ms across regions`;
  const remedy =
    'Keep the brokers of one log in the zones of one region. A copy in another one that is asynchronous (MirrorMaker) costs no step anything, and the loss of the region loses what it has not copied: steps run again there, and irreversible effects are asked about.';
  return [warn('Regions', message, remedy)];
}

/** A log without an archive only grows. */
export function checkArchive({ tiers }: Pick<ClusterConfig, 'tiers'>, logBytes: number): readonly Finding[] {
  if (tiers.archiveUrl !== '' || logBytes < ARCHIVE_ADVISED_LOG_BYTES) return [];
  const remedy = 'Name a bucket in TIDEMARK_ARCHIVE_URL, in all processes, and run a compactor (docs/retention.md).';
  return [warn('Archive', `none, and the log holds ${bytes(logBytes)}: all history stays in it for ever`, remedy)];
}

async function checkInside(config: ClusterConfig, name: string, locate: Locate): Promise<readonly Finding[]> {
  try {
    const warned: Finding[] = [];
    const onWarning = (_: string, message: string) =>
      warned.push(warn('Kafka', message, 'A trial can do with it; history that must last can not.'));
    const host = await openCluster(config, { onWarning });
    const place = await hostPlace(host, { name, shown: config.topic, isIdle: false, definitions: [] });
    try {
      const log = [await checkLog(host, SURVIVED), ...checkArchive(config, await host.ports.log.sizeBytes())];
      return [...warned, ...log, ...(await checkHealth(place, STAFF)), ...(await checkRecent(place, locate))];
    } finally {
      await place.close();
      await host.close();
    }
  } catch (error) {
    return [fail('Opening', messageOf(error), 'See the line of the server that it names.', exitCodeOf(error))];
  }
}
