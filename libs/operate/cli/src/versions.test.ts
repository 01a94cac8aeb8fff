/** A new build against running workflows: preflight, pin and roll-out, with the real command. */

import path from 'node:path';
import { expect, it } from 'vitest';
import { cliFolder } from './spawned-cli-fixture.ts';

const OLD = path.resolve(import.meta.dirname, '../fixtures/versions-old.ts');
const NEW = path.resolve(import.meta.dirname, '../fixtures/versions-new.ts');

it('tells what a build would do to what runs, keeps what is pinned, and goes on with what is safe', async (context) => {
  const { start, here } = await cliFolder(context);
  const dev = start('dev', '--workflows', OLD);
  await dev.says(/Ctrl-C/);
  for (const [name, id] of [
    ['order', 'o1'],
    ['order', 'o2'],
    ['parcel', 'p1'],
    ['letter', 'l1'],
  ] as const) {
    expect((await here('run', name, '--id', id, '--workflows', OLD, '--detach')).code).toBe(0);
  }

  // It works on the state itself, which nobody else may hold.
  const beside = await here('admin', 'preflight', '--workflows', NEW);
  expect([beside.code, beside.err]).toEqual([
    78,
    expect.stringMatching(/tidemark dev\) holds .*End that process first/),
  ]);
  await dev.kill();
  const checked = await here('admin', 'preflight', '--workflows', NEW, '--json');
  expect([checked.code, JSON.parse(checked.out)]).toMatchObject([
    1,
    {
      safe: false,
      groups: [
        { definition: 'letter', version: 1, verdict: 'pin', count: 1, examples: ['l1'] },
        { definition: 'order', version: 1, verdict: 'safe', count: 2, examples: ['o1', 'o2'] },
        {
          definition: 'parcel',
          verdict: 'needs-upcaster',
          problems: [
            { where: 'belief', path: 'cents' },
            { where: 'task pay', message: expect.stringContaining("'pay'") },
          ],
        },
      ],
    },
  ]);
  expect((await here('admin', 'preflight', '--workflows', OLD)).out).toMatch(/All are safe/);

  const pinned = await here('pin', 'o2', '--by', 'ada', '--why', 'an audit is under way', '--json');
  expect([pinned.code, JSON.parse(pinned.out)]).toEqual([
    0,
    { api_version: 'v1', workflow: 'o2', definition: 'order', definition_version: 1, pinned: true },
  ]);
  const reported = await here('admin', 'preflight', '--workflows', NEW);
  expect(reported.code).toBe(1);
  expect(reported.out).toMatch(/pin +order v1: 1 workflow \(o2\)\n +1 workflow: version: it is pinned to v1/);
  expect((await here('pin', 'o2', '--by', 'ada')).code).toBe(64);

  const ran = await here('run', 'order', '--id', 'o1', '--workflows', NEW);
  expect([ran.code, JSON.parse(ran.out)]).toEqual([0, { cents: 500 }]);
  expect((await here('unpin', 'o2', '--by', 'ada', '--why', 'the audit is over')).out).toMatch(
    /may use versions after/,
  );
  expect(JSON.parse((await here('run', 'order', '--id', 'o2', '--workflows', NEW)).out)).toEqual({ cents: 500 });
});
