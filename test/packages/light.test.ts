/**
 * What comes along with the packages that programs of users import: no server, no client of one, no database. Walked from the manifests that
 * are published, and from the lock file for what they need of others.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { builtManifest, type RootManifest } from '../../scripts/build/manifest.ts';
import { readPublished } from '../../scripts/build/published.ts';
import { reachOf } from '../../scripts/build/reach.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file: string): unknown => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = read('package.json') as RootManifest;
const { packages: locked } = read('package-lock.json') as { readonly packages: Readonly<Record<string, Locked>> };
const siblings = readPublished(ROOT);
const ours = new Map(
  siblings.map((published) => {
    const reached = reachOf(ROOT, published);
    return [published.name, Object.keys(builtManifest(published, { reached, siblings, root }).dependencies)] as const;
  }),
);

const needsOf = (name: string): readonly string[] => {
  const { dependencies = {}, optionalDependencies = {} } = locked[`node_modules/${name}`] ?? {};
  return ours.get(name) ?? Object.keys({ ...dependencies, ...optionalDependencies });
};

/** Every package that is installed with `name`, with the first path that leads there. */
function broughtBy(name: string): ReadonlyMap<string, string> {
  const found = new Map([[name, name]]);
  for (const [from, way] of found) {
    for (const next of needsOf(from)) if (!found.has(next)) found.set(next, `${way} > ${next}`);
  }
  return found;
}

/** Those of `names` that come along, each by the path that leads there. */
const waysTo = (name: string, names: RegExp): string[] =>
  [...broughtBy(name)].filter(([brought]) => names.test(brought)).map(([, way]) => way);

/** What serves, stores, queues or talks to what does, and interfaces of the browser. */
const HEAVY =
  /^(fastify|@fastify\/.*|@tidemark\/(api|console|cli|host|(log|store|queue|keys)-.*|blob-s3)|tidemark|@electric-sql\/.*|pg|bullmq|ioredis|@platformatic\/kafka|kafkajs|@aws-sdk\/.*|react.*|vite.*|better-sqlite3|testcontainers)$/;

describe('what comes along', () => {
  it('with the client: nothing at all', () => {
    expect([...broughtBy('@tidemark/client').values()]).toEqual(['@tidemark/client']);
  });

  it.for(['core', 'ports', 'codec', 'secrets', 'tokenizer', 'memory', 'runtime', 'sdk', 'ai', 'effects', 'files'])(
    'with %s: no server, no client of one, no database',
    (name) => {
      expect(ours.has(`@tidemark/${name}`)).toBe(true);
      expect(waysTo(`@tidemark/${name}`, HEAVY)).toEqual([]);
    },
  );

  it('with the command: nothing of a cluster, which is a package of its own', () => {
    const ofClusters =
      /^(@tidemark\/(cluster|log-kafka|queue-bullmq|blob-s3|keys-aws-kms)|kafkajs|@platformatic\/kafka|bullmq|ioredis|@aws-sdk\/.*|@grpc\/.*|@opentelemetry\/exporter-.*)$/;
    expect(waysTo('tidemark', ofClusters)).toEqual([]);
    expect(waysTo('@tidemark/worker-service', /^(kafkajs|bullmq|@grpc\/grpc-js)$/)).toHaveLength(3);
  });

  it('with the command and the services: what they serve with, which the walk finds', () => {
    expect(waysTo('tidemark', /^fastify$/)).toEqual(['tidemark > @tidemark/api > fastify']);
    expect(waysTo('@tidemark/coordinator-service', /^fastify$/)).toHaveLength(1);
    expect(waysTo('@tidemark/testkit', /pglite$/)).toHaveLength(1);
  });
});
