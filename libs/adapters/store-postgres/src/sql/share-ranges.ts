/**
 * Shares ranges of partitions among the living owners of one role, by the database's clock. One transaction under an advisory lock, so
 * no range ever has two owners. The share of the n-th of N owners (by name) is 64 / N rounded down, and one more for the first 64 mod
 * N: all owners compute the same shares, and every range has one once each has called. Cost: 1 ms.
 */

import type { RangeRole } from '@tidemark/ports';
import { NEWEST_MIGRATION } from '../migrations.ts';
import { BEGIN, COMMIT, type Statement } from '../sql-client.ts';

/** Key of the lock under which ranges are shared; any number. */
const SHARING = 7_401_002;

/** Added for owners of another release, whose time to live may be longer. */
const AHEAD_MAX_S = 30;

const lock = `select pg_advisory_xact_lock(${SHARING})`;

const seen = `
insert into owners (owner, expires_at, role, knows) values ($1, clock_timestamp() + make_interval(secs => $2::float8 / 1000), $3, $4)
on conflict (owner) do update set expires_at = excluded.expires_at, knows = excluded.knows`;

/** Includes rows from the future: the clock was set back since, and they would live for as long as it was ahead. */
const expire = `
delete from owners where owner <> $1 and (expires_at < clock_timestamp()
  or role = $3 and expires_at > clock_timestamp() + make_interval(secs => ${AHEAD_MAX_S} + 2 * $2::float8 / 1000))`;

const unown = 'update ranges set owner = null where owner is not null and owner not in (select owner from owners)';

const share = `(
  select (select count(*) from ranges where role = $2) / count(*)
    + case when count(*) filter (where owner < $1) < (select count(*) from ranges where role = $2) % count(*)
      then 1 else 0 end
  from owners where role = $2
)`;

const surrender = `
update ranges set owner = null
where role = $2 and range in (select range from ranges where role = $2 and owner = $1 order by range offset ${share})`;

const take = `
update ranges set owner = $1
where role = $2 and range in (
  select range from ranges where role = $2 and owner is null
  order by range limit greatest(0, ${share} - (select count(*) from ranges where role = $2 and owner = $1))
)`;

const mine = 'select range from ranges where role = $2 and owner = $1 order by range';
const leave = 'update ranges set owner = null where owner = $1';
const forget = 'delete from owners where owner = $1';

export const shareRanges = (owner: string, ttlMs: number, role: RangeRole): readonly Statement[] => [
  BEGIN,
  { name: 'lock-sharing', text: lock, values: [] },
  { name: 'owner-seen', text: seen, values: [owner, String(ttlMs), role, NEWEST_MIGRATION] },
  { name: 'owners-expire', text: expire, values: [owner, String(ttlMs), role] },
  { name: 'ranges-unown', text: unown, values: [] },
  { name: 'ranges-surrender', text: surrender, values: [owner, role] },
  { name: 'ranges-take', text: take, values: [owner, role] },
  { name: 'ranges-mine', text: mine, values: [owner, role] },
  COMMIT,
];
/** Index of the statement that returns the ranges. */
export const RANGES_AT = 7;

/** Frees all ranges; for a caller that knows that no owner lives. */
export const freeRanges = (): readonly Statement[] => [
  BEGIN,
  { name: 'lock-sharing', text: lock, values: [] },
  { name: 'owners-forget', text: 'delete from owners', values: [] },
  { name: 'ranges-unown', text: unown, values: [] },
  COMMIT,
];

export const releaseRanges = (owner: string): readonly Statement[] => [
  BEGIN,
  { name: 'lock-sharing', text: lock, values: [] },
  { name: 'ranges-leave', text: leave, values: [owner] },
  { name: 'owner-forget', text: forget, values: [owner] },
  COMMIT,
];
