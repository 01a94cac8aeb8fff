// Owns where an audit's state is kept and who runs its steps: a folder and this process, or a cluster and its workers.

import { resolve } from 'node:path';
import {
  configFromEnv,
  folderKeysFromEnv,
  type Host,
  hasClusterConfig,
  openCluster,
  openEmbedded,
} from '@tidemark/host';
import { FatalError } from '@tidemark/sdk';
import { traceSettings } from '@tidemark/traces';
import { DEFAULT_STATE } from './command-line.ts';
import { pause } from './facts/follow.ts';
import { DRAIN_MS, POLL_PAUSE_MS } from './limits.ts';
import { codebaseAudit } from './workflow.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type OnError = (where: string, error: unknown) => void;

/** `shown`: in words. `folder`: absolute, null on a cluster. */
export type PlaceName = { folder: string | null; shown: string };

export interface Place {
  readonly host: Host;
  readonly isCluster: boolean;
  /** Resolves when the rows hold all that the log does, so that what they say is what was committed. */
  catchUp(signal: AbortSignal): Promise<void>;
  /** On a cluster workers are at work already. Runs in `superseded` end as failed instead of going on. */
  startWork(superseded: ReadonlyMap<string, string>): Promise<void>;
  /** Lets files under way finish and hands over; what was committed can still be read. */
  endWork(): Promise<void>;
  close(): Promise<void>;
}

/** `--state` decides where it is given; else the environment; else the default folder. */
export function placeName(state: string | undefined, env: Environment): PlaceName {
  if (state === undefined && hasClusterConfig(env))
    return { folder: null, shown: `cluster, topic ${configFromEnv(env).topic}` };
  const shown = state ?? DEFAULT_STATE;
  return { folder: resolve(shown), shown };
}

/** Opens the place. Throws `ConfigError`, `CorruptError`, `UnavailableError` with what is wrong; a folder is untouched then. */
export async function openPlace(name: PlaceName, env: Environment, onError: OnError): Promise<Place> {
  if (name.folder === null) return new ClusterPlace(await openCluster(configFromEnv(env)));
  const traces = traceSettings(env);
  const host = await openEmbedded({ folder: name.folder, ...folderKeysFromEnv(env), traces }, { onError });
  return new FolderPlace(host, onError);
}

class ClusterPlace implements Place {
  readonly isCluster = true;
  readonly host: Host;

  constructor(host: Host) {
    this.host = host;
  }

  async catchUp(): Promise<void> {}
  async startWork(): Promise<void> {}
  async endWork(): Promise<void> {}

  close(): Promise<void> {
    return this.host.close();
  }
}

class FolderPlace implements Place {
  readonly isCluster = false;
  readonly host: Host;
  readonly #onError: OnError;
  #worker: Awaited<ReturnType<Host['startWorker']>> | undefined;

  constructor(host: Host, onError: OnError) {
    this.host = host;
    this.#onError = onError;
  }

  async catchUp(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await isCaughtUp(this.host.ports))) await pause(POLL_PAUSE_MS, signal);
  }

  async startWork(superseded: ReadonlyMap<string, string>): Promise<void> {
    const definitions = [superseded.size === 0 ? codebaseAudit : withoutRuns(superseded)];
    this.#worker = await this.host.startWorker({ definitions, concurrency: 16, onError: this.#onError });
  }

  async endWork(): Promise<void> {
    await this.#worker?.stop(DRAIN_MS);
    await this.catchUp(AbortSignal.timeout(DRAIN_MS));
  }

  close(): Promise<void> {
    return this.host.close();
  }
}

async function isCaughtUp({ log, store }: Host['ports']): Promise<boolean> {
  if (!(await store.ready())) return false;
  const positions = await store.positions();
  for (const [partition, { end }] of await log.bounds()) if ((positions.get(partition) ?? 0) < end) return false;
  return true;
}

/** The workflow, in which some runs fail at their next step. */
function withoutRuns(superseded: ReadonlyMap<string, string>): typeof codebaseAudit {
  const steps = [...codebaseAudit.steps].map(([name, step]) => {
    const run: typeof step.run = (context, input) => {
      const why = superseded.get(context.workflow);
      if (why !== undefined) throw new FatalError(why);
      return step.run(context, input);
    };
    return [name, { ...step, run }] as const;
  });
  return { ...codebaseAudit, steps: new Map(steps) };
}
