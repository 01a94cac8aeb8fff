/**
 * Owns how a test file gets the servers of its run: `describeServers` around suites in `*.kafka.test.ts`,
 * `*.redis.test.ts`, `*.postgres.test.ts` and `*.cluster.test.ts`. For test files alone: it imports vitest.
 * Invariant: a suite whose server can't be had is reported by name, as skipped, or with CI=true as failed.
 */
import { UnavailableError } from '@tidemark/core';
import { afterAll, describe, inject, type TestContext, test } from 'vitest';
import { startServer } from './find.ts';
import { type FreshDatabase, freshDatabase } from './fresh.ts';
import { type DataIn, isUnavailable, type NativeServer, type ServerKind } from './server.ts';

export { freshRedisPrefix, freshTopicName } from './fresh.ts';

/** What the run's setup passes to every test file: an address, or why there is none. */
export type ProvidedServer =
  /** `log`: the file with its output, where this process may read it. */
  { readonly address: string; readonly log?: string } | { readonly unavailable: string; readonly remedy: string };
export type ProvidedServers = Readonly<Partial<Record<ServerKind, ProvidedServer>>>;

declare module 'vitest' {
  export interface ProvidedContext {
    tidemarkServers: ProvidedServers;
    tidemarkTestsFolder: string;
  }
}

export type SuiteServers<K extends ServerKind> = Readonly<Record<K, string>> & {
  /** The url of a new empty database, dropped after the suite. Needs `postgres`. */
  freshDatabase(): Promise<string>;
};

/**
 * A suite that needs servers. `define` gets their addresses: Kafka `host:port`, Redis `redis://…`, Postgres
 * `postgres://…`. The servers are shared by all files of the run: use fresh topics, databases and prefixes.
 */
export function describeServers<const K extends ServerKind>(
  name: string,
  kinds: readonly K[],
  define: (servers: SuiteServers<K>) => void,
): void {
  const provided = inject('tidemarkServers');
  const addresses: Partial<Record<ServerKind, string>> = {};
  const missing: string[] = [];
  for (const kind of kinds) {
    const server = provided[kind] ?? notForeseen(kind);
    if ('address' in server) addresses[kind] = server.address;
    else missing.push(`${kind}: ${server.unavailable}. Remedy: ${server.remedy}.`);
  }
  if (missing.length > 0) describe(name, () => missingServers(missing));
  else describe(name, () => defineWith(addresses, define));
}

/** The setup starts servers by the names of the test files. */
function notForeseen(kind: ServerKind): ProvidedServer {
  return { unavailable: 'not started for this file', remedy: `name the file *.${kind}.test.ts or *.cluster.test.ts` };
}

/** A test in place of those that need these servers: skipped, or failing with CI=true. */
export function missingServers(missing: readonly string[]): void {
  const text = missing.join(' ');
  if (process.env.CI === 'true') {
    test('needs a server', () => {
      throw new Error(text);
    });
  } else {
    test.skip(`needs a server: ${text}`, () => undefined);
  }
}

function defineWith<K extends ServerKind>(
  addresses: Partial<Record<ServerKind, string>>,
  define: (servers: SuiteServers<K>) => void,
): void {
  const databases: FreshDatabase[] = [];
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.drop()));
  });
  define({
    ...(addresses as Record<K, string>),
    async freshDatabase() {
      const database = await freshDatabase(addresses.postgres ?? '');
      databases.push(database);
      return database.url;
    },
  });
}

/** A native server for one test, which may crash it; stopped after the test. Where native ones are unavailable the test is skipped, or with CI=true fails. */
export async function ownServer(
  context: TestContext,
  kind: ServerKind,
  dataIn: DataIn = 'memory',
): Promise<NativeServer> {
  const server = await startServer(kind, { sources: ['native'], dataIn });
  if (isUnavailable(server)) {
    const text = `needs a server: no native ${kind}: ${server.unavailable}. Remedy: ${server.remedy}.`;
    if (process.env.CI === 'true') throw new UnavailableError('test-server-missing', text);
    return context.skip(text);
  }
  if (server.source !== 'native') throw new UnavailableError('test-server-missing', `${kind} is not a native server`);
  context.onTestFinished(() => server.stop());
  return server;
}
