/**
 * Owns the servers of one vitest run, and the folder of its files: starts, once and together, those that the selected test files need by
 * their names, passes their addresses to `describeServers`, and stops them at the end. vitest calls `setup`. Must start no server for a run
 * without such files.
 */
import type { TestProject } from 'vitest/node';
import { startServer } from './find.ts';
import { logFileOf, makeTestsFolder, removeServerFolder } from './native-process.ts';
import {
  clusterKinds,
  isUnavailable,
  type ServerKind,
  type StartedServer,
  serverKinds,
  type UnavailableServer,
} from './server.ts';
import type { ProvidedServer } from './suites.ts';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const needed = neededServers(await selectedFiles(project));
  const [folder, ...found] = await Promise.all([makeTestsFolder(), ...needed.map((kind) => startServer(kind))]);
  project.provide('tidemarkTestsFolder', folder);
  for (const server of found) process.stderr.write(`${introduce(server)}\n`);
  project.provide('tidemarkServers', Object.fromEntries(found.map((server) => [server.kind, provided(server)])));
  return async () => {
    const started = found.filter((server): server is StartedServer => !isUnavailable(server));
    await Promise.all([removeServerFolder(folder), ...started.map((server) => server.stop())]);
  };
}

/** The files of this run: all, or those that match the words after `npm test --`. */
async function selectedFiles(project: TestProject): Promise<readonly string[]> {
  const { filenamePattern } = project.vitest as unknown as { readonly filenamePattern?: string[] };
  const { testFiles } = await project.globTestFiles(filenamePattern);
  return testFiles;
}

export function neededServers(files: readonly string[]): readonly ServerKind[] {
  const isCluster = files.some((file) => file.endsWith('.cluster.test.ts'));
  return serverKinds.filter(
    (kind) =>
      files.some((file) => file.endsWith(`.${kind}.test.ts`)) ||
      (isCluster && clusterKinds.some((one) => one === kind)),
  );
}

function provided(server: StartedServer | UnavailableServer): ProvidedServer {
  if (isUnavailable(server)) return { unavailable: server.unavailable, remedy: server.remedy };
  const log = server.source === 'native' ? { log: logFileOf(server.folder) } : {};
  return { address: server.address, ...log };
}

function introduce(server: StartedServer | UnavailableServer): string {
  if (isUnavailable(server)) return `no ${server.kind}: ${server.unavailable}. Remedy: ${server.remedy}.`;
  return `${server.kind}: ${server.source}`;
}
