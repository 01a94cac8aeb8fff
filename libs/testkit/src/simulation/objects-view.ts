/** Owns one process's view of the object store, over the network. */

import type { ObjectStore } from '@tidemark/ports';
import type { MemoryObjects } from '../memory-objects.ts';
import type { Network } from './network.ts';
import type { SimulatedProcess } from './process.ts';

/** The fleet's archive; absent in runs that archive nothing. */
export interface ArchivePlan {
  readonly compactorCount: number;
  readonly hotMs: number;
  readonly segmentMinBytes: number;
  readonly segmentMaxBytes: number;
  /** False: every compactor takes every partition, as for moments after a long stop of one of them. */
  readonly isShared: boolean;
  readonly periodMs: number;
}

/** Traps know calls by these names: `create-segment`, `read-manifest`. */
const kindOf = (name: string): string => (name.startsWith('manifests/') ? 'manifest' : 'segment');

export function objectsView(objects: MemoryObjects, network: Network, process: SimulatedProcess): ObjectStore {
  const call = <T>(operation: string, effect: () => Promise<T>): Promise<T> =>
    network.call(process, 'objects', operation, effect);
  return {
    place: objects.place,
    create: (name, bytes) => call(`create-${kindOf(name)}`, () => objects.create(name, bytes)),
    put: (name, bytes) => call(`put-${kindOf(name)}`, () => objects.put(name, bytes)),
    read: (name) => call(`read-${kindOf(name)}`, () => objects.read(name)),
    async *list(prefix) {
      yield* await call('list', () => all(objects.list(prefix)));
    },
    remove: (name) => call('remove', () => objects.remove(name)),
    recall: (name) => call('recall', () => objects.recall(name)),
    close: async () => {},
  };
}

async function all(names: AsyncIterable<string>): Promise<readonly string[]> {
  const listed: string[] = [];
  for await (const name of names) listed.push(name);
  return listed;
}
