/**
 * Owns what a worker reads of a workflow before it claims it: its rows, or, of one that has just been opened, what the log says, since rows
 * need not show it yet. Jobs that arrive together share the reads.
 */

import {
  CorruptError,
  type EventEntry,
  type Offset,
  type Partition,
  type PartitionState,
  type StreamState,
  streamFromJson,
  type WorkflowId,
} from '@tidemark/core';
import type { Job, StreamSnapshot } from '@tidemark/ports';
import { batched } from '@tidemark/ports/batched';
import { foldNear, StreamContent } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';

/** Most workflows that one read covers. */
const CLAIM_BATCH_MAX = 256;

/** A workflow as it is at the partition's offset `next`. */
export interface Claimable {
  readonly state: StreamState;
  readonly partition: Partition;
  readonly next: Offset;
  /** Throws `CorruptError`. */
  readonly content: () => StreamContent;
}

type Found<T> = T | CorruptError | undefined;
type ReadPorts = Pick<Ports, 'store' | 'log' | 'clock' | 'digest'>;

export class ClaimableReads {
  readonly #ports: ReadPorts;
  readonly #inRows: (workflow: WorkflowId) => Promise<Found<StreamSnapshot>>;
  readonly #inLog: (job: Job) => Promise<Claimable | undefined>;

  constructor(ports: ReadPorts) {
    this.#ports = ports;
    this.#inRows = batched(CLAIM_BATCH_MAX, (workflows) => loadAll(ports.store, workflows));
    this.#inLog = batched(CLAIM_BATCH_MAX, (jobs) => openedAll(ports, jobs));
  }

  /** Undefined: there is no such workflow (any more). Throws `CorruptError` and what the ports throw. */
  async of(job: Job): Promise<Claimable | undefined> {
    const opened = job.begins === true ? await this.#inLog(job) : undefined;
    if (opened !== undefined) return opened;
    const snapshot = await this.#inRows(job.workflow);
    if (snapshot === undefined) return undefined;
    if (snapshot instanceof CorruptError) throw snapshot;
    const { partition, next } = snapshot;
    const state = streamFromJson(snapshot.state, snapshot.tasks);
    return { state, partition, next, content: () => StreamContent.from(snapshot, state, this.#ports.digest) };
  }
}

/** Unreadable rows of one workflow don't fail the others of the batch. */
async function loadAll(
  store: Ports['store'],
  workflows: readonly WorkflowId[],
): Promise<readonly Found<StreamSnapshot>[]> {
  const wanted = [...new Set(workflows)];
  try {
    const found = new Map((await store.loadStreams(wanted)).map((snapshot) => [snapshot.workflow, snapshot]));
    return workflows.map((workflow) => found.get(workflow));
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    if (wanted.length === 1) return workflows.map(() => error);
    return Promise.all(workflows.map(async (workflow) => (await loadAll(store, [workflow]))[0]));
  }
}

/**
 * Of each job the workflow, if its opening is in the log behind the rows; undefined where rows have it. A job proves nothing: the opening
 * counts where the fold accepts it, and where the workflow is placed there. One that was placed anew, after the store was lost, may have
 * been opened in two partitions, and rows keep one of them.
 */
async function openedAll(ports: ReadPorts, jobs: readonly Job[]): Promise<readonly (Claimable | undefined)[]> {
  const openings = jobs.map(({ partition, offset }) => ({ partition, offset: Math.max(0, offset - 1) as Offset }));
  const events = new Map<WorkflowId, EventEntry[]>(jobs.map(({ workflow }) => [workflow, []]));
  const [places, states] = await Promise.all([
    Promise.all(jobs.map(({ workflow }) => ports.store.placed(workflow))),
    foldNear(ports, openings, (entry) => events.get(entry.envelope.workflow)?.push(entry)),
  ]);
  return jobs.map((job, at) => {
    const place = places[at];
    const partition = states.get(job.partition);
    if (place?.partition !== job.partition || partition === undefined) return undefined;
    return openedIn(partition, { ...job, generation: place.generation }, events.get(job.workflow)!, ports);
  });
}

function openedIn(
  { partition, next, streams }: PartitionState,
  { workflow, generation }: Pick<StreamState, 'workflow' | 'generation'>,
  events: readonly EventEntry[],
  { digest }: Pick<ReadPorts, 'digest'>,
): Claimable | undefined {
  const state = streams.get(workflow);
  const own = events.filter(({ envelope }) => envelope.generation === generation);
  if (state?.generation !== generation || own[0]?.envelope.type !== 'WorkflowOpened') return undefined;
  const content = (): StreamContent => StreamContent.since(own, digest);
  return { state, partition, next, content };
}
