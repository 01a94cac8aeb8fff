/** Links in a folder of states: none is followed, whether it is read, written, locked or listed. */

import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { aState, testPlace } from './place-fixture.ts';
import { listStates } from './repo-state.ts';

it.each(['.workflow-state', '.workflow-state/archive', '.workflow-state/audit-state.json'])(
  'does not follow a link at %s',
  async (link) => {
    const { open, folder } = await testPlace({ onTestFinished });
    const elsewhere = path.join(folder, '..', 'elsewhere');
    const isFile = link.endsWith('.json');
    await (isFile ? writeFile(elsewhere, JSON.stringify(aState())) : mkdir(elsewhere));
    if (link !== '.workflow-state') await mkdir(path.join(folder, '.workflow-state'));
    await symlink(elsewhere, path.join(folder, link));
    for (const act of [
      () => open().resume(),
      () => open().show(),
      () => open().init({ stages: [] }),
      () => open().checkpoint({ note: 'x' }),
    ]) {
      await expect(act()).rejects.toMatchObject({
        code: 'state-link',
        message: expect.stringContaining(path.normalize(link)),
      });
    }
    if (isFile) expect(JSON.parse(await readFile(elsewhere, 'utf8'))).toEqual(aState());
  },
);

it('makes no lock where a link leads, and lists no folder through one', async (context) => {
  const { open, folder } = await testPlace(context);
  const [states, elsewhere] = [path.join(folder, '.workflow-state'), path.join(folder, '..', 'elsewhere')];
  await mkdir(states);
  await mkdir(elsewhere);
  await symlink(path.join(elsewhere, 'lock'), path.join(states, 'gitignore.lock'));
  const { warnings } = await open().init({ stages: ['a'] });
  expect(warnings).toEqual([expect.stringContaining('symbolic link')]);
  await symlink(path.join(elsewhere, 'lock'), path.join(states, 'other-state.lock'));
  await expect(open({ name: 'other' }).init({ stages: ['a'] })).rejects.toMatchObject({ code: 'state-link' });
  expect(await readdir(elsewhere)).toEqual([]);
  await symlink(states, path.join(elsewhere, '.workflow-state'));
  await expect(listStates(elsewhere)).rejects.toMatchObject({ code: 'state-link' });
  expect(await listStates(folder)).toEqual(['audit']);
});
