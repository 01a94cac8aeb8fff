/** What is forgotten with a workflow beside its keys (F4), and what its certificate names (F3); libs/operate/host tests whole folders. */

import { type Json, type Lamport, type Position, type TenantId, workflowId } from '@tidemark/core';
import type { KeyStore, MemoryRow, StoredKey, UnscrubbedTable, WorkflowSummary } from '@tidemark/ports';
import { SimulatedMemories } from '@tidemark/testkit/engine/simulated-memories';
import { beforeEach, expect, it } from 'vitest';
import type { OutlastingEntry } from './client-memory.ts';
import { type ForgetCertificate, forget } from './forgetting.ts';

const TENANT = 'acme' as TenantId;
const ID = workflowId('w');

let memories: SimulatedMemories;
let keys: Map<string, StoredKey>;
let certificates: ForgetCertificate[];
let steps: string[];
let left: readonly UnscrubbedTable[];
/** Memories that are written during the forgetting. */
let meanwhile: readonly MemoryRow[];
beforeEach(() => {
  memories = new SimulatedMemories();
  keys = new Map([['k1', { id: 'k1', workflow: ID } as StoredKey]]);
  certificates = [];
  steps = [];
  left = [];
  meanwhile = [];
});

const row = (workflow: string, subject: string, key: string, part: Partial<MemoryRow> = {}): MemoryRow => ({
  ...{ tenant: TENANT, subject, kind: 'fact', key, value: '"v"', words: `about ${key}`, source: 's', atMs: 0 },
  ...{ workflow: workflowId(workflow), position: 1 as Position, ordinal: 0, lamport: 1 as Lamport, isForgotten: false },
  ...part,
});

const forgetIt = () =>
  forget(
    {
      store: {
        ready: async () => true,
        workflow: async (workflow) =>
          workflow === ID ? ({ tenant: TENANT, closedInGeneration: 1 } as unknown as WorkflowSummary) : undefined,
        userWorkflows: async () => [],
        forksOf: async () => [],
        memories: (query) => memories.memories(query),
        memoriesWrittenBy: (query) => memories.memoriesWrittenBy(query),
        scrub: async () => {
          steps.push('scrubbed');
          return left;
        },
      },
      keys: {
        async destroyAll(ids) {
          steps.push('destroyed');
          for (const id of ids) keys.delete(id);
          memories.put(meanwhile);
        },
      },
      keyStore: {
        async *list({ workflow }) {
          for (const key of keys.values()) if (key.workflow === workflow) yield key;
        },
      } as Pick<KeyStore, 'list'>,
      memory: {
        async caughtUp() {
          steps.push('caught up');
        },
        async certify(_: TenantId, __: string, certificate: Json) {
          certificates.unshift(certificate as unknown as ForgetCertificate);
          steps.push(certificates[0]!.state);
        },
        certificates: async () => certificates as unknown as readonly Json[],
        async outlast(_: TenantId, entries: readonly OutlastingEntry[]) {
          steps.push('memories');
          const lamport = 2 as Lamport;
          memories.put(
            entries.map(({ subject, kind, key }) => row('r', subject, key, { kind, lamport, isForgotten: true })),
          );
        },
      },
      now: () => 'now',
    },
    { tenant: TENANT, workflow: ID, by: 'carl', why: 'asked' },
  );

const words = async (subject: string): Promise<readonly string[]> =>
  (await memories.memories({ tenant: TENANT, subject, limit: 100 })).map((entry) => entry.words);

it('takes what it and its undo wrote out of anybody’s memory, and scrubs before it says that all is destroyed', async () => {
  memories.put([row('w', 'user:ana', 'a'), row('w~undo', 'pipeline:p', 'b'), row('other', 'user:ana', 'c')]);
  // More than one page.
  memories.put(Array.from({ length: 120 }, (_, n) => row('w', 'user:bob', `n${n}`)));
  expect(await forgetIt()).toMatchObject({ state: 'destroyed', keys: ['k1'], memoryCount: 122, leftIn: [] });
  expect(await words('user:ana')).toEqual(['about c']);
  expect(await words('pipeline:p')).toEqual([]);
  expect(await words('user:bob')).toEqual([]);
  expect([...new Set(steps)]).toEqual(['caught up', 'ordered', 'memories', 'destroyed', 'scrubbed']);
  expect(steps.slice(-3)).toEqual(['destroyed', 'scrubbed', 'destroyed']);
});

it('takes out what came while it was at work', async () => {
  meanwhile = [row('w', 'user:ana', 'late')];
  expect(await forgetIt()).toMatchObject({ state: 'destroyed' });
  expect(await words('user:ana')).toEqual([]);
  expect(steps.slice(-3)).toEqual(['memories', 'scrubbed', 'destroyed']);
});

it('names in the certificate the tables that hold bytes still, and every key, however often it is asked for', async () => {
  left = [{ table: 'memories', why: 'too-large' }];
  expect(await forgetIt()).toMatchObject({ keys: ['k1'], leftIn: left });
  left = [];
  expect(await forgetIt()).toMatchObject({ keys: ['k1'], leftIn: [] });
  expect(certificates[0]).toMatchObject({ state: 'destroyed', keys: ['k1'], leftIn: [] });
});
