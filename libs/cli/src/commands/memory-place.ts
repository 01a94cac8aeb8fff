/** Owns what the commands for sessions, memory, preferences and budgets share: their place, their tenant, and how they open it. */

import { DEFAULT_TENANT, InvalidError, type TenantId, tenantId } from '@tidemark/core';
import type { Session } from '../session.ts';
import { type AtDeskOptions, atDesk as atDeskOf } from '../state/at-desk.ts';
import type { Desk } from '../state/desk.ts';

export interface MemoryOptions {
  readonly state?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface OfUser extends MemoryOptions {
  readonly user: string;
}

/** `look`: where nothing is kept yet, nothing is made. Throws `ConfigError` (`state-missing`) then. */
export const atDesk = <T>(
  session: Session,
  { state, tenant = DEFAULT_TENANT }: MemoryOptions,
  how: AtDeskOptions['how'],
  work: (desk: Desk, tenant: TenantId) => Promise<T>,
): Promise<T> => atDeskOf(session, { state, how }, (desk) => work(desk, tenantId(tenant)));

/** Who says so, where nobody else is named. */
export const COMMAND_SOURCE = 'user';

/** Throws `InvalidError` (`usd-invalid`). Exact: no binary fraction is made of what was typed. */
export function microsOf(usd: string): number {
  const [, dollars, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(usd) ?? [];
  if (dollars !== undefined) return Number(dollars) * 1_000_000 + Number(fraction.padEnd(6, '0'));
  throw new InvalidError('usd-invalid', `--usd: give US dollars, such as 5 or 0.25, with at most 6 decimals.`);
}
