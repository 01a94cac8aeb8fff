/** Owns the moments of a call, what a receiver answers, and what the keeper leaves behind. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Keeper } from './process-group.ts';
import { BODY_MAX_BYTES, type Moment, Receiver } from './receiver.ts';

describe('a receiver', () => {
  it('has three moments for each call, and forgets what it was killed before', async () => {
    const receiver = await Receiver.open({ answers: [], model: undefined });
    const post = () => fetch(receiver.url, { method: 'POST', body: 'x' }).then(({ ok }) => ok);
    const moments: (readonly [Moment, number])[] = [];
    const calls = receiver.record((moment, number) => {
      moments.push([moment, number]);
      return number === 1 && moments.length === 1;
    });
    await expect(post()).rejects.toThrow(/fetch failed/);
    expect(calls).toEqual([]);
    expect(await post()).toBe(true);
    await expect.poll(() => moments.length).toBe(4);
    expect(moments).toEqual([
      ['unreceived', 1],
      ['unreceived', 1],
      ['unanswered', 1],
      ['answered', 1],
    ]);
    expect(calls).toHaveLength(1);
    await receiver.close();
  });

  it('answers by the first rule that fits, and takes no body without an end', async () => {
    const answers = [
      { method: 'POST', path: '/pay*', status: 201, body: { id: 1 } },
      { path: '/pay', body: [2] },
    ];
    const receiver = await Receiver.open({ answers, model: undefined });
    const ask = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${receiver.url}${path}`, init);
      return [response.status, await response.json()];
    };
    const calls = receiver.record();
    const headers = { 'idempotency-key': 'secret-key' };
    expect(await ask('/payments?of=1', { method: 'POST', body: 'secret-body', headers })).toEqual([201, { id: 1 }]);
    expect(await ask('/pay')).toEqual([200, [2]]);
    expect(await ask('/pay/more')).toEqual([200, {}]);
    const token = ['sk', 'ant', 'api03', 'abcdefghijklmnopqrstuvwxyz0123456789'].join('-');
    expect(await ask(`/of/${token}`)).toEqual([200, {}]);
    expect(await ask('/', { method: 'POST', body: 'x'.repeat(BODY_MAX_BYTES + 1) })).toEqual([413, expect.anything()]);
    expect(calls.map(({ what, kind }) => [what, kind])).toEqual([
      ['POST /payments', 'write'],
      ['GET /pay', 'read'],
      ['GET /pay/more', 'read'],
      [expect.stringMatching(/^GET \/of\/\[masked/), 'read'],
    ]);
    expect(JSON.stringify(calls)).not.toContain('secret');
    await receiver.close();
  });
});

it('a keeper kills and removes what it was told of, once nobody tells it more', async () => {
  const [kept, released] = [0, 1].map(() => spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }));
  onTestFinished(() => [kept, released].forEach((child) => void child!.kill('SIGKILL')));
  const keeper = new Keeper();
  keeper.keep(`group ${kept!.pid}`);
  keeper.keep(`group ${released!.pid}`);
  keeper.release(`group ${released!.pid}`);
  await keeper.inFolder(async (folder) => {
    await keeper.close();
    await expect.poll(() => kept!.signalCode).toBe('SIGKILL');
    expect([existsSync(folder), released!.signalCode]).toEqual([false, null]);
  });
});
