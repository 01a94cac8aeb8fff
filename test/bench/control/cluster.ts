/** Owns the cluster that the control plane is measured on: servers, a coordinator that serves the API, a worker where one is wanted. */

import { type Client, connect } from '@tidemark/client';
import { memoryBytes, type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { freePort, startClusterServers } from '@tidemark/testkit/servers';

export interface ControlCluster {
  readonly url: string;
  readonly client: Client;
  readonly postgresUrl: string;
  /** Settings of its services, for a further process. */
  readonly env: Readonly<Record<string, string>>;
  readonly coordinator: ServiceProcess;
  /** Largest resident size of the coordinator so far, in MB. */
  memoryPeakMb(): Promise<number>;
}

export interface ControlOptions {
  readonly worker: boolean;
  /** Settings beside the ordinary ones, or in place of them. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Opens it, works, and ends all of it. The broker's data is in memory. */
export async function onCluster<T>(
  { worker, env: given = {} }: ControlOptions,
  work: (cluster: ControlCluster) => Promise<T>,
): Promise<T> {
  const servers = await startClusterServers({ dataIn: 'memory' });
  const port = await freePort();
  const env = {
    TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
    TIDEMARK_REDIS_URL: servers.redis.address,
    TIDEMARK_POSTGRES_URL: servers.postgres.address,
    TIDEMARK_TOPIC: `bench-control-${process.pid}`,
    TIDEMARK_PARTITIONS: '1024',
    TIDEMARK_ENCRYPTION: 'off',
    TIDEMARK_WORKFLOWS: './test/bench/control/workflows.ts',
    TIDEMARK_AUTH: 'off',
    TIDEMARK_API_HOST: '127.0.0.1',
    TIDEMARK_API_PORT: String(port),
    ...given,
  };
  const services: ServiceProcess[] = [];
  try {
    const coordinator = await startService('coordinator', env);
    services.push(coordinator);
    if (worker) services.push(await startService('worker', env));
    const url = `http://127.0.0.1:${port}`;
    return await work({
      ...{ url, coordinator, client: connect({ url }), postgresUrl: servers.postgres.address, env },
      memoryPeakMb: async () => (await memoryBytes(coordinator.pid)).peak / 1_048_576,
    });
  } finally {
    for (const service of services.reverse()) await service.stop();
    await servers.stop();
  }
}
