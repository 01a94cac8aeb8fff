/**
 * Owns one view of rows whose contents are encrypted: what is written is sealed with its workflow's key, what is read is opened. Rows
 * that were written before encryption was turned on are read as they are. Must not decide which columns (see sealed-rows.ts).
 */

import { openText, type SealingKey, sealText, textSealedWith } from '@tidemark/codec';
import type { TenantId, WorkflowId } from '@tidemark/core';
import type {
  Placement,
  ProjectionBatch,
  ProjectionStore,
  RecordOwner,
  SessionTaken,
  WorkflowSummary,
} from '@tidemark/ports';
import * as rows from './sealed-rows.ts';
import type { WorkflowKeys } from './workflow-keys.ts';

/** What needs no key to be known. */
const isEmpty = (text: string): boolean => text === 'null' || text === '{}' || text === '';

export function sealedStore(store: ProjectionStore, keys: WorkflowKeys): ProjectionStore {
  const sealing = new Sealing(keys);
  const overridden = new Map<PropertyKey, unknown>(Object.entries(sealedOperations(store, sealing)));
  return new Proxy(store, {
    get(target, name) {
      if (overridden.has(name)) return overridden.get(name);
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      const bound: unknown = member.bind(target);
      overridden.set(name, bound);
      return bound;
    },
  });
}

function sealedOperations(store: ProjectionStore, sealing: Sealing): Partial<ProjectionStore> {
  /** Rows of one kind, each opened. */
  const opened = <R>(found: readonly R[], turn: (row: R, turn: rows.Turn) => R): Promise<readonly R[]> =>
    sealing.opened((open) => found.map((row) => turn(row, open)));
  return {
    apply: async (batch) => store.apply(await sealing.sealed(batch)),
    restoreRows: async (batch, ...rest) => store.restoreRows(await sealing.sealed(batch), ...rest),
    loadStreams: async (workflows) => opened(await store.loadStreams(workflows), rows.turnSnapshot),
    checkpoints: async (...of) => opened(await store.checkpoints(...of), rows.turnCheckpoint),
    effects: async (...of) => opened(await store.effects(...of), rows.turnEffect),
    events: async (...of) => opened(await store.events(...of), rows.turnEvent),
    scopes: async (...of) => opened(await store.scopes(...of), rows.turnScope),
    texts: async (workflow, digests) =>
      opened(await store.texts(workflow, digests), (row, turn) => ({
        ...row,
        text: turn(row.text, rows.inText(row.digest, workflow), workflow),
      })),
    fragments: async (workflow, upTo) =>
      opened(await store.fragments(workflow, upTo), (row, turn) => ({
        ...row,
        text: turn(row.text, rows.inText(row.digest, workflow), workflow),
      })),
    memories: async (query) => opened(await store.memories(query), rows.turnMemory),
    recall: async (query) =>
      opened(await store.recall(query), (row, turn) => ({ ...row, memory: rows.turnMemory(row.memory, turn) })),
    workflow: async (workflow) => {
      const row = await store.workflow(workflow);
      return row && (await opened([row], turnSummary))[0];
    },
    workflows: async (query) => opened(await store.workflows(query), turnSummary),
    place: async (requests) => {
      const owners = requests.map(({ workflow, tenant, opening }) => ({ workflow, tenant, user: userIn(opening) }));
      const seal = await sealing.sealer(owners);
      const sealed = requests.map((request) => ({
        ...request,
        opening: seal(request.opening, rows.inOpening(request.workflow), request.workflow),
      }));
      return opened(await store.place(sealed), turnPlacement);
    },
    unappended: async (...of) => opened(await store.unappended(...of), turnPlacement) as Promise<readonly Placement[]>,
  };
}

/** Whose it is: the key is made with the opening, and is the user's from then on. */
const userIn = (opening: string): string | null =>
  (JSON.parse(opening) as { readonly control?: { readonly user?: string } }).control?.user ?? null;

const turnSummary = (row: WorkflowSummary, turn: rows.Turn): WorkflowSummary => ({
  ...row,
  result: row.result === null ? null : turn(row.result, rows.inResult(row.workflow), row.workflow),
});

function turnPlacement<P extends Placement | SessionTaken>(row: P, turn: rows.Turn): P {
  if (!('opening' in row)) return row;
  return { ...row, opening: turn(row.opening, rows.inOpening(row.workflow), row.workflow) };
}

class Sealing {
  readonly #keys: WorkflowKeys;

  constructor(keys: WorkflowKeys) {
    this.#keys = keys;
  }

  async sealed(batch: ProjectionBatch): Promise<ProjectionBatch> {
    const tenants = new Map<WorkflowId, TenantId>(batch.streams.map(({ workflow, tenant }) => [workflow, tenant]));
    for (const { workflow, tenant } of batch.memories ?? []) tenants.set(workflow, tenant);
    const owners = new Map<WorkflowId, RecordOwner>();
    rows.turnBatch(batch, (text, _, workflow) => {
      const tenant = isEmpty(text) ? undefined : tenants.get(workflow);
      if (tenant !== undefined) owners.set(workflow, { workflow, tenant, user: null });
      return text;
    });
    return rows.turnBatch(batch, await this.sealer([...owners.values()]));
  }

  /** What seals texts of these workflows. */
  async sealer(owners: readonly RecordOwner[]): Promise<rows.Turn> {
    const keys = new Map<WorkflowId, SealingKey>();
    await Promise.all(
      owners.map(async (owner) => {
        keys.set(owner.workflow, this.#keys.peek(owner) ?? (await this.#keys.find(owner)));
      }),
    );
    return (text, place, workflow) => {
      const key = keys.get(workflow);
      return key === undefined || isEmpty(text) ? text : sealText(text, place, key);
    };
  }

  /** Does the work with the keys that are at hand, and again once those that it lacked were fetched. */
  async opened<T>(work: (open: rows.Turn) => T): Promise<T> {
    const missing = new Set<string>();
    const found = new Map<string, Uint8Array | null>();
    const open: rows.Turn = (text, place) => {
      const id = textSealedWith(text);
      if (id === undefined) return text;
      const key = found.has(id) ? found.get(id)! : this.#keys.peekOpening(id);
      if (key !== undefined) return openText(text, place, key);
      missing.add(id);
      return text;
    };
    const done = work(open);
    if (missing.size === 0) return done;
    for (const [id, key] of await this.#keys.opening(missing)) found.set(id, key);
    return work(open);
  }
}
