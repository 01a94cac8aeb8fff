import { quiet } from '@tidemark/testkit/engine/simulated-ports';
import { expect, it } from 'vitest';
import { RunGate } from './run-gate.ts';

it('lets one end the run at a time; no effect begins before that is done', async () => {
  const gate = new RunGate();
  const { signal } = new AbortController();
  const said: string[] = [];
  const [effect, work] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const underWay = gate.passing(effect.promise);
  const first = gate.quiet(signal, async () => {
    said.push('first begins');
    await work.promise;
    said.push('first ends');
  });
  const second = gate.quiet(signal, () => void said.push('second'));
  const late = async (): Promise<void> => {
    while (gate.isClosed) await gate.opening(signal);
    said.push('effect');
  };
  const held = late();
  await quiet();
  expect(said).toEqual([]);
  effect.resolve();
  await quiet();
  expect(said).toEqual(['first begins']);
  work.resolve();
  await Promise.all([underWay, first, second, held]);
  expect(said).toEqual(['first begins', 'first ends', 'second', 'effect']);
});

it('goes on with the next where one fails, and with none once the run is over', async () => {
  const gate = new RunGate();
  const run = new AbortController();
  const failed = gate.quiet(run.signal, () => {
    throw new Error('the log is away');
  });
  await expect(failed).rejects.toThrow('the log is away');
  expect(await gate.quiet(run.signal, () => 'done')).toBe('done');
  run.abort(new Error('over'));
  await expect(gate.quiet(run.signal, () => 'never')).rejects.toThrow('over');
  expect(gate.isClosed).toBe(false);
});
