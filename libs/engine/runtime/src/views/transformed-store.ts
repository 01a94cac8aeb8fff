/**
 * Owns what views of rows that transform texts have in common: which operations write and read texts. It knows neither how texts are
 * transformed, nor which columns have them (see row-texts.ts).
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

/** Transforms texts. The work may run twice, first to find out what it needs; its last result counts. */
export interface ContentTransform {
  /** Transforms texts on their way into rows. `owners` returns the owners of the workflows. */
  inward<T>(work: (turn: rows.TransformText) => T, owners: () => Owners): Promise<T>;
  /** Transforms texts on their way out. */
  outward<T>(work: (turn: rows.TransformText) => T): Promise<T>;
}

type TurnRow<R> = (row: R, turn: rows.TransformText) => R;

/** The view of the rows. */
export function transformedStore<Payload>(
  store: ProjectionStore<Payload>,
  transform: ContentTransform,
): ProjectionStore<Payload> {
  const inward = <T>(given: T, turnAll: (given: T, turn: rows.TransformText) => T, owners: () => Owners): Promise<T> =>
    transform.inward((turn) => turnAll(given, turn), owners);
  const outward = <R>(found: readonly R[], turnRow: TurnRow<R>): Promise<readonly R[]> =>
    transform.outward((turn) => found.map((row) => turnRow(row, turn)));
  const inwardBatch = (batch: ProjectionBatch): Promise<ProjectionBatch> =>
    inward(batch, rows.turnBatch, () => ownersOf(batch));
  return overridden<ProjectionStore<Payload>>(store, {
    apply: async (batch) => store.apply(await inwardBatch(batch)),
    restoreRows: async (batch, ...rest) => store.restoreRows(await inwardBatch(batch), ...rest),
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
      const turned = inward(
        requests,
        (all, turn) => all.map((request) => rows.turnOpening(request, turn)),
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

/** Mostly a key exists already and the user is not needed, so the state is parsed only on demand. */
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

/** The key is created with the opening, and belongs to the user from then on. */
function ownerOf({ workflow, tenant, opening }: PlacementRequest): RecordOwner {
  const { control } = JSON.parse(opening) as { readonly control?: { readonly user?: string } };
  return { workflow, tenant, user: control?.user ?? null };
}

/**
 * A view of rows that keeps no words of memories, and so no vectors made from them: what is remembered lies sealed alone, and is found by
 * its name, kind and age, not by what it says.
 */
export const wordlessStore = <Payload>(store: ProjectionStore<Payload>): ProjectionStore<Payload> =>
  overridden<ProjectionStore<Payload>>(store, {
    apply: (batch) => store.apply({ ...batch, memories: batch.memories?.map((row) => ({ ...row, words: '' })) }),
    recall: async () => {
      throw new ConfigError(
        'memory-words-off',
        "Memories can't be searched by words: TIDEMARK_MEMORY_WORDS is off, so rows don't have them. List them by kind, or name one.",
      );
    },
  });
