/**
 * Owns what commands need from a place where state is kept, whoever holds it: this process, another one behind a socket,
 * or a cluster. All of it is plain data, so that it crosses a socket unchanged.
 */

import type { DefinitionCard } from '@tidemark/api/shapes';
import type { Lease, Priority } from '@tidemark/core';
import type { ProjectionStore, StoreCounts } from '@tidemark/ports';
import type { CommandAccess } from './access-desk.ts';
import type { CommandArchive } from './archive-desk.ts';
import type { CommandKeys } from './keys-desk.ts';
import type { CommandMemory } from './memory-desk.ts';
import type { CommandPast } from './past-desk.ts';

/** The reads that commands make; a store has them, and a socket passes them on. */
export const READS = [
  'workflow',
  'workflows',
  'openWorkflows',
  'loadStreams',
  'tasks',
  'children',
  'checkpoints',
  'effects',
  'events',
  'rejected',
  'counts',
  'memories',
  'fragments',
  'texts',
  'trace',
  'scopes',
] as const satisfies readonly (keyof ProjectionStore)[];
export type Reads = Pick<ProjectionStore, (typeof READS)[number]>;

export interface Health {
  readonly store: { readonly kind: 'postgres' | 'pglite'; readonly ready: boolean; readonly counts: StoreCounts };
  readonly log: {
    readonly durability: 'power' | 'process';
    readonly partitionCount: number;
    readonly sizeBytes: number;
    /** Events that are in the log and not yet in the rows, and in how many partitions. */
    readonly lagCount: number;
    readonly laggingPartitionCount: number;
  };
}

/** What happens without being asked for. */
export type News =
  /** Rows changed. */
  | { readonly type: 'applied' }
  /** A worker of the holder's claimed a workflow. */
  | { readonly type: 'claimed'; readonly workflow: string; readonly sequence: number; readonly epoch: number }
  /** A step tells how far it is; not stored. */
  | {
      readonly type: 'progress';
      readonly workflow: string;
      readonly step: string;
      readonly done: number;
      readonly total: number;
      readonly text?: string | undefined;
    }
  /** A piece of a model's answer, while it comes; not stored. */
  | { readonly type: 'said'; readonly workflow: string; readonly task: string; readonly text: string }
  /** Whoever held the folder is gone. */
  | { readonly type: 'gone' };

export type NewsListener = (news: News) => void;

/** The process that holds an embedded folder. */
export interface Holder {
  readonly pid: number;
  readonly command: 'dev' | 'run';
}

export type Place =
  | { readonly kind: 'cluster'; readonly topic: string }
  | {
      readonly kind: 'embedded';
      /** As the user named it. */
      readonly folder: string;
      /** Null where this process holds it. */
      readonly holder: Holder | null;
    };

/**
 * Whether nobody can be running anything there: a folder that this process holds without a worker. A lease in its rows is
 * then a dead process's.
 */
export const isIdle = ({ place, runsWorker }: Desk): boolean =>
  place.kind === 'embedded' && place.holder === null && !runsWorker;

/** Where state is kept when nothing is said. */
export const DEFAULT_FOLDER = '.tidemark';

export interface StartRequest {
  readonly definition: string;
  readonly input: unknown;
  readonly id?: string | undefined;
  readonly tenant?: string | undefined;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly timeout?: string | undefined;
  readonly priority?: Priority | undefined;
}

export interface StartAnswer {
  readonly workflow: string;
  /** False: the id was there before, and its run is the answer. */
  readonly created: boolean;
  /** False: that run was started with another input than the one given now. */
  readonly sameInput: boolean;
}

export interface SignalRequest {
  /** With the same key it counts once. */
  readonly key: string;
  /** It is the command's own, and nothing that definitions declare. */
  readonly isOwn?: true | undefined;
}

export interface Desk {
  readonly place: Place;
  readonly reads: Reads;
  /** Sessions, memory and budgets. */
  readonly memory: CommandMemory;
  /** History that is no longer in log and rows. */
  readonly archive: CommandArchive;
  /** What protects history. */
  readonly keys: CommandKeys;
  /** Who is let in over HTTP, and what they did. */
  readonly access: CommandAccess;
  /** How workflows stood, and new ones that go on from there. */
  readonly past: CommandPast;
  /** Whether this process itself runs workflows there. */
  readonly runsWorker: boolean;
  /** Workflows that whoever holds the place can run; on a cluster those of this process. */
  definitions(): Promise<readonly DefinitionCard[]>;
  /** Throws `InvalidError` (`workflow-unknown`, or its input), `ConflictError`, `LimitError`, `UnavailableError`. */
  start(request: StartRequest): Promise<StartAnswer>;
  /** Counts once for its key; held to the definitions that are known here; see `Client.signal`. */
  signal(workflow: string, name: string, value: unknown, request: SignalRequest): Promise<void>;
  /** Takes the live lease away; see `Client.revoke`. */
  revoke(workflow: string): Promise<Pick<Lease, 'epoch' | 'holder'> | null>;
  health(): Promise<Health>;
  /** Returns what ends the subscription. `workflow`: what models say in it is told as well, where another process runs it. */
  onNews(listener: NewsListener, workflow?: string): Promise<() => void>;
  close(drainMs?: number): Promise<void>;
}
