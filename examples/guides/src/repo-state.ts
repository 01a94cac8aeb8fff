/** Owns what docs/repo-state.md shows: how far an upgrade got, kept in a file of the repository that it changes. */

import { openRepoState } from '@tidemark/repo-state';

export async function upgrade(folder: string): Promise<string> {
  const state = openRepoState({ folder, name: 'upgrade', now: Date.now, agent: 'ann' });
  const { line, warnings } = await state.resume({ otherwise: { stages: ['bump', { id: 'test', check: 'npm test' }] } });
  const { passed, checks } = await state.checkpoint({ stages: ['bump', 'test'], status: 'done' });
  await state.update((now) => ({ ...now, artifacts: { ...now.artifacts, seen: 3 } })); // a blackboard
  if (passed) await state.complete();
  return [line, ...warnings, ...checks.map(({ stage }) => `${stage}: checked`)].join('\n');
}
