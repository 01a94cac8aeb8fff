/** Owns what the commands for sessions, memory, preferences and budgets share: their place, their tenant, and how they open it. */

import { DEFAULT_TENANT, InvalidError, type TenantId, tenantId } from '@tidemark/core';
import { noState } from '../failures.ts';
import type { Session } from '../session.ts';
import { noticeStall } from '../stall.ts';
import type { Desk } from '../state/desk.ts';
import { exists, openToRead, targetOf } from '../state/open-desk.ts';

export interface MemoryOptions {
  readonly state?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface OfUser extends MemoryOptions {
  readonly user: string;
}

/** `look`: where nothing is kept yet, nothing is made. Throws `ConfigError` (`state-missing`) then. */
export async function atDesk<T>(
  { terminal, env, cwd }: Session,
  { state, tenant = DEFAULT_TENANT }: MemoryOptions,
  how: 'look' | 'write',
  work: (desk: Desk, tenant: TenantId) => Promise<T>,
): Promise<T> {
  const target = targetOf(state, env, cwd);
  if (target.kind === 'embedded' && !exists(target) && how === 'look') throw noState(target.shown);
  const desk = await openToRead(target);
  try {
    return await noticeStall(terminal, desk.place, work(desk, tenantId(tenant)));
  } finally {
    await desk.close();
  }
}

/** Who says so, where nobody else is named. */
export const COMMAND_SOURCE = 'user';

/** Throws `InvalidError` (`usd-invalid`). Exact: no binary fraction is made of what was typed. */
export function microsOf(usd: string): number {
  const [, dollars, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(usd) ?? [];
  if (dollars !== undefined) return Number(dollars) * 1_000_000 + Number(fraction.padEnd(6, '0'));
  throw new InvalidError('usd-invalid', `--usd: give US dollars, such as 5 or 0.25, with at most 6 decimals.`);
}
