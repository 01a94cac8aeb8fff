/** Owns a fresh folder and a clock for tests of states. */

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openRepoState, type RepoStateFile, type RepoStateOptions } from './repo-state.ts';
import { type RepoState, stateFrom } from './state-file.ts';

/** The part of a test that clean-up needs. */
export interface TestEnd {
  onTestFinished(cleanUp: () => Promise<void>): void;
}

export const START = '2026-03-01T14:00:00.000Z';

export interface TestPlace {
  readonly folder: string;
  readonly temporaryFolder: string;
  /** Set it to change the time. */
  readonly clock: { nowMs: number };
  open(options?: Partial<RepoStateOptions>): RepoStateFile;
  /** Below `.workflow-state`. */
  read(file?: string): Promise<string>;
  /** As it is read. */
  state(): Promise<RepoState>;
  write(text: string | object, file?: string): Promise<void>;
  /** Names, without locks. */
  list(folder?: string): Promise<readonly string[]>;
}

export async function testPlace(context: TestEnd): Promise<TestPlace> {
  const top = await mkdtemp(path.join(os.tmpdir(), 'tidemark-repo-state-'));
  context.onTestFinished(() => rm(top, { recursive: true, force: true }));
  const folder = path.join(top, 'repository');
  const temporaryFolder = path.join(top, 'temporary');
  const states = path.join(folder, '.workflow-state');
  await mkdir(path.join(folder, '.git'), { recursive: true });
  await mkdir(temporaryFolder);
  const clock = { nowMs: Date.parse(START) };
  const read = (file = 'audit-state.json'): Promise<string> => readFile(path.join(states, file), 'utf8');
  return {
    folder,
    temporaryFolder,
    clock,
    open: (options = {}) =>
      openRepoState({ folder, name: 'audit', now: () => clock.nowMs, temporaryFolder, ...options }),
    read,
    state: async () => stateFrom(JSON.parse(await read()), 'audit', 'audit-state.json', 0),
    async write(text, file = 'audit-state.json') {
      await mkdir(states, { recursive: true });
      await writeFile(path.join(states, file), typeof text === 'string' ? text : JSON.stringify(text));
    },
    async list(below = '') {
      const names = await readdir(path.join(states, below));
      return names.filter((name) => !name.endsWith('.lock')).sort();
    },
  };
}

/** A state as a file may hold it. */
export const aState = (more: object = {}): object => ({
  workflow: 'audit',
  version: 1,
  created_at: START,
  updated_at: START,
  current_stage: 'fix',
  stages: [
    { id: 'scan', status: 'done' },
    { id: 'fix', status: 'in_progress' },
    { id: 'test', status: 'pending' },
  ],
  artifacts: {},
  notes: [],
  ...more,
});
