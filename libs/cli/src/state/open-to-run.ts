/** Owns opening a place to run one workflow there: elsewhere, where somebody runs workflows already, or else in this process. */

import type { Json } from '@tidemark/core';
import type { Definition } from '@tidemark/runtime';
import { CONCURRENCY_DEFAULT_COUNT, DRAIN_MS, FOLDER_WAIT_MS } from '../limits.ts';
import { pick, readDefinitions } from './definitions.ts';
import type { Desk } from './desk.ts';
import type { HostDesk } from './host-desk.ts';
import { type Folder, holdFolder, openClusterDesk, shareFolder, type Target } from './open-desk.ts';
import { serveSocket } from './socket-server.ts';

export interface RunRequest {
  readonly target: Target;
  readonly name: string;
  /** Undefined: to be checked when it is clear that a new run is meant. */
  readonly input: Json | undefined;
  readonly modules: readonly string[];
  readonly cwd: string;
  /** Whether this process is to run it as well, where nobody else does. */
  readonly works: boolean;
  /** Told of every failure that was outlived. */
  readonly onError: (where: string, error: unknown) => void;
  /** Whoever held the folder has just ended, and may still be handing over. */
  readonly isTakeover: boolean;
}

/** What is wrong with the call (no such workflow, its input) is thrown before anything is made or held. */
export async function openToRun(request: RunRequest): Promise<Desk> {
  const { target, modules } = request;
  if (target.kind === 'cluster') {
    const named = modules.length > 0 ? modules : target.config.workflowModules;
    return openClusterDesk(target.config, await fitting(request, named));
  }
  const waitMs = FOLDER_WAIT_MS + (request.isTakeover ? DRAIN_MS : 0);
  return shareFolder(target, async () => holdToRun(request, target, await fitting(request, modules)), waitMs);
}

async function fitting({ name, input, cwd }: RunRequest, modules: readonly string[]): Promise<readonly Definition[]> {
  const definitions = await readDefinitions(modules, cwd);
  const definition = pick(definitions, name, 'in the given modules');
  if (input !== undefined) definition.parseInput(input);
  return definitions;
}

async function holdToRun(
  { works, onError }: RunRequest,
  target: Folder,
  definitions: readonly Definition[],
): Promise<HostDesk> {
  const desk = await holdFolder(target, { definitions, onError });
  if (!works) return desk;
  try {
    await desk.startWorker(CONCURRENCY_DEFAULT_COUNT, onError);
    const server = await serveSocket(desk, target.folder, 'run');
    desk.closeFirst(() => server.close());
    return desk;
  } catch (error) {
    await desk.close();
    throw error;
  }
}
