/** Owns starting the three servers of a cluster together, for `npm run cluster`, the bench and the fault tests. */
import { UnavailableError } from '@tidemark/core';
import { startServer } from './find.ts';
import { type ClusterKind, clusterKinds, isUnavailable, type ServerOptions, type StartedServer } from './server.ts';

export type ClusterServers = Readonly<Record<ClusterKind, StartedServer>> & { stop(): Promise<void> };

/** Starts all three at once. When one is unavailable, rejects with every reason and remedy, and leaves none running. */
export async function startClusterServers(options: ServerOptions = {}): Promise<ClusterServers> {
  const found = await Promise.all(clusterKinds.map((kind) => startServer(kind, options)));
  const started = found.filter((server): server is StartedServer => !isUnavailable(server));
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.stop()));
  };
  const missing = found.filter(isUnavailable);
  if (missing.length > 0) {
    await stop();
    const text = missing.map((server) => `${server.kind}: ${server.unavailable}. Remedy: ${server.remedy}.`);
    throw new UnavailableError('test-servers-unavailable', text.join('\n'), { kinds: missing.map(({ kind }) => kind) });
  }
  const byKind = Object.fromEntries(started.map((server) => [server.kind, server]));
  return { ...(byKind as Record<ClusterKind, StartedServer>), stop };
}
