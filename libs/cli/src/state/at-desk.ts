/** Owns how a command that runs nothing works on a place: it is found, opened, told of when it doesn't answer, and let go. */

import type { Definition } from '@tidemark/runtime';
import { noState } from '../failures.ts';
import type { Session } from '../session.ts';
import { noticeStall } from '../stall.ts';
import type { Desk } from './desk.ts';
import { exists, openToRead, targetOf } from './open-desk.ts';

export interface AtDeskOptions {
  /** As the user named it. */
  readonly state?: string | undefined;
  /** `look`: where nothing is kept yet, nothing is made. */
  readonly how: 'look' | 'write';
  /** Read once it is known that there is something to look at; absent: none are needed. */
  readonly definitions?: (() => Promise<readonly Definition[]>) | undefined;
}

/** Throws `ConfigError` (`state-missing`) where there is nothing to look at, and what opening and `work` throw. */
export async function atDesk<T>(
  { terminal, env, cwd }: Session,
  { state, how, definitions }: AtDeskOptions,
  work: (desk: Desk) => Promise<T>,
): Promise<T> {
  const target = targetOf(state, env, cwd);
  if (target.kind === 'embedded' && how === 'look' && !exists(target)) throw noState(target.shown);
  const desk = await openToRead(target, await definitions?.());
  try {
    return await noticeStall(terminal, desk.place, work(desk));
  } finally {
    await desk.close();
  }
}
