/** What comes back counts once, whatever is forgotten in between. */

import { pipeline } from '@tidemark/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FilesWorld, filesWorld } from '../fixtures/files-world.ts';
import { openFolder } from './folder.ts';
import { FolderState } from './folder-state.ts';
import { Reports } from './reports.ts';
import { takeHandoffs, type WayBack } from './way-back.ts';

const gate = Promise.withResolvers<void>();
const waiting = pipeline('waiting', { only: () => gate.promise });
const NOTE = { from: 'shell', to: 'only', message: 'Mind row 3.', artifacts: [] };

let world: FilesWorld;
beforeAll(async () => {
  world = await filesWorld([waiting]);
});
afterAll(async () => {
  gate.resolve();
  await world.close();
});

/** Takes the same hand-overs twice, as after a crash before anything was noted; answers how many signals the run has. */
async function signalsAfterTwo(id: string, back: WayBack): Promise<number> {
  const run = await world.host.client.start(waiting, null, { id });
  const folder = await openFolder(world.folder);
  try {
    for (let time = 0; time < 2; time++) {
      const state = new FolderState(folder, id, []);
      const outside = { folder, state, back, find: undefined, reports: new Reports() };
      await takeHandoffs(outside, { workflow: id, definition: 'waiting' }, [NOTE, NOTE], []);
    }
  } finally {
    await folder.close();
  }
  const events = await world.host.ports.store.events(run.id, 100);
  return events.filter(({ type }) => type === 'SignalReceived').length;
}

it('is one event for each hand-over, also for two of the same words', async () => {
  expect(await signalsAfterTwo('once', world.back)).toBe(2);
});

it('would be another each time without the key that derives from its words (the control)', async () => {
  let count = 0;
  const signal: WayBack['signal'] = (workflow, name, value) =>
    world.back.signal(workflow, name, value, { key: `${++count}` });
  expect(await signalsAfterTwo('control', { ...world.back, signal })).toBe(4);
});
