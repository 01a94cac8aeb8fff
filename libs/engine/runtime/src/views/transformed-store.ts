/**
 * Owns what views of rows have in common that change texts on their way in and out: which operations write and read them. Must not know
 * how texts are changed, nor which columns hold them (see row-texts.ts).
 */

import { ConfigError, type WorkflowId } from '@tidemark/core';
import type {
  Placement,
  PlacementRequest,
  ProjectionBatch,
  ProjectionStore,
  RecordOwner,
  StreamRow,
} from '@tidemark/ports';
import { overridden } from '../kernel/index.ts';
import * as rows from './row-texts.ts';

export type Owners = ReadonlyMap<WorkflowId, RecordOwner>;

/** Changes texts. The work may be done twice, first to see what it needs; what it returned last counts. */
export interface ContentTransform {
  /** On their way into rows. `owners`: tells whose workflows they are. */
  inward<T>(work: (turn: rows.Turn) => T, owners: () => Owners): Promise<T>;
  /** On their way out. */
  outward<T>(work: (turn: rows.Turn) => T): Promise<T>;
}

export function transformedStore<Said>(store: ProjectionStore<Said>, turning: ContentTransform): ProjectionStore<Said> {
  const inward = (batch: ProjectionBatch): Promise<ProjectionBatch> =>
    turning.inward(
      (turn) => rows.turnBatch(batch, turn),
      () => ownersOf(batch),
    );
  /** Rows of one kind. */
  const outward = <R>(found: readonly R[], turnRow: (row: R, turn: rows.Turn) => R): Promise<readonly R[]> =>
    turning.outward((turn) => found.map((row) => turnRow(row, turn)));
  return overridden<ProjectionStore<Said>>(store, {
    apply: async (batch) => store.apply(await inward(batch)),
    restoreRows: async (batch, ...rest) => store.restoreRows(await inward(batch), ...rest),
    scopes: async (...of) => outward(await store.scopes(...of), rows.turnScope),
    texts: async (workflow, digests) => outward(await store.texts(workflow, digests), rows.turnNamed(workflow)),
    fragments: async (workflow, upTo) => outward(await store.fragments(workflow, upTo), rows.turnNamed(workflow)),
    memories: async (query) => outward(await store.memories(query), rows.turnMemory),
    recall: async (query) =>
      outward(await store.recall(query), (row, turn) => ({ ...row, memory: rows.turnMemory(row.memory, turn) })),
    workflow: async (workflow) => {
      const row = await store.workflow(workflow);
      return row && (await outward([row], rows.turnSummary))[0];
    },
    workflows: async (query) => outward(await store.workflows(query), rows.turnSummary),
    place: async (requests, rules) => {
      const turned = turning.inward(
        (turn) => requests.map((request) => rows.turnOpening(request, turn)),
        () => new Map(requests.map((request) => [request.workflow, ownerOf(request)])),
      );
      return outward(await store.place(await turned, rules), rows.turnOpening);
    },
    unappended: async (...of) =>
      outward<Placement>(await store.unappended(...of), rows.turnOpening) as Promise<readonly Placement[]>,
  });
}

function ownersOf({ streams, memories = [] }: ProjectionBatch): Owners {
  const owners = new Map<WorkflowId, RecordOwner>();
  for (const { workflow, tenant } of memories) owners.set(workflow, { workflow, tenant, user: null });
  for (const row of streams) owners.set(row.workflow, new StreamOwner(row));
  return owners;
}

/** Mostly there is a key, and nobody asks whose it is to be: the state isn't parsed before. */
class StreamOwner implements RecordOwner {
  readonly tenant: RecordOwner['tenant'];
  readonly workflow: WorkflowId;
  readonly #state: string;

  constructor({ tenant, workflow, state }: StreamRow) {
    this.tenant = tenant;
    this.workflow = workflow;
    this.#state = state;
  }

  get user(): string | null {
    return this.#state === '' ? null : ((JSON.parse(this.#state) as { readonly user?: string }).user ?? null);
  }
}

/** The key is made with the opening, and is the user's from then on. */
function ownerOf({ workflow, tenant, opening }: PlacementRequest): RecordOwner {
  const { control } = JSON.parse(opening) as { readonly control?: { readonly user?: string } };
  return { workflow, tenant, user: control?.user ?? null };
}

/**
 * A view of rows that keeps no words of memories, and so no vectors made from them: what is remembered lies sealed alone, and is found by
 * its name, kind and age, not by what it says.
 */
export const wordlessStore = <Said>(store: ProjectionStore<Said>): ProjectionStore<Said> =>
  overridden<ProjectionStore<Said>>(store, {
    apply: (batch) => store.apply({ ...batch, memories: batch.memories?.map((row) => ({ ...row, words: '' })) }),
    recall: async () => {
      throw new ConfigError(
        'memory-words-off',
        'Nothing is found by what it says: TIDEMARK_MEMORY_WORDS is off, so rows have no words of memories. List them by kind, or name one.',
      );
    },
  });
