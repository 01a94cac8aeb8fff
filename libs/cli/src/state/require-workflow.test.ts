/** How long a row that isn't there is waited for, over desks that do nothing. */

import { describe, expect, it } from 'vitest';
import type { Desk, Place } from './desk.ts';
import { awaitRow } from './require-workflow.ts';

const HELD: Place = { kind: 'embedded', folder: 'f', holder: { pid: 1, command: 'dev' } };
const ALONE: Place = { kind: 'embedded', folder: 'f', holder: null };
const CLUSTER: Place = { kind: 'cluster', topic: 't' };

/** `lags`: of the log that is not in the rows, at each look; the last one stays. */
function desk(place: Place, lags: readonly number[] = []) {
  let looks = 0;
  const health = async () => {
    const lagCount = lags[Math.min(looks, lags.length - 1)] ?? 0;
    looks += 1;
    return { store: { ready: true }, log: { lagCount } };
  };
  return { place, runsWorker: false, health } as unknown as Desk;
}

/** A row that comes with the `nth` read. */
function row(nth: number) {
  let reads = 0;
  const read = async (): Promise<'row' | undefined> => (++reads >= nth ? 'row' : undefined);
  return { read, reads: () => reads };
}

describe('a row that is not there', () => {
  it('is waited for while rows lag behind the log of the folder, and read once more when they do not', async () => {
    const late = row(4);
    expect(await awaitRow(desk(HELD, [2, 1, 0]), late.read)).toBe('row');
    const never = row(100);
    expect(await awaitRow(desk(HELD, [2, 0]), never.read)).toBeUndefined();
    expect(never.reads()).toBe(3);
  });

  it('is not waited for where this process alone has the folder', async () => {
    const never = row(2);
    expect(await awaitRow(desk(ALONE, [1]), never.read)).toBeUndefined();
    expect(never.reads()).toBe(1);
  });

  it('is waited for on a cluster, whatever its rows hold', async () => {
    expect(await awaitRow(desk(CLUSTER), row(3).read)).toBe('row');
  });
});
