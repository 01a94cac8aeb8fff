/**
 * Owns the tables of projections, first version. Never edited once released: a change is a new migration.
 *
 * - Keys compare by bytes (`collate "C"`): the same order on every server and adapter, and the cheapest.
 * - Payloads and states are `text`, as the log holds them. Whole counters are bigint; times, tokens and costs are double precision, since
 *   the wire allows any number there and a row must never fail where the fold accepted.
 * - Names may be 512 characters, more than an index entry holds; where a name is part of a key, the index has two 64-bit hashes of it.
 * - `partitions`, `workflows` and `tasks` are updated in place all the time: their pages keep room, so that an update stays in its page and
 *   touches no index (HOT). An index on a column that changes with every event would prevent that.
 */

export const name = '0001-projections';

export const sql = `
create table meta (
  only_row boolean primary key default true check (only_row),
  ready boolean not null default false
);
insert into meta default values;

create table partitions (
  partition integer primary key,
  next bigint not null,
  -- Of the newest workflow folded here, and of the newest placed here.
  generation bigint not null default 0,
  placed_generation bigint not null default 0,
  -- Placed and not yet closed workflows, and whose they are.
  live integer not null default 0,
  tenant text collate "C",
  rebuild_to bigint not null
) with (fillfactor = 30);
create index partitions_free on partitions (partition) where live = 0;
create index partitions_shared on partitions (tenant, live) where live > 0;

create table placements (
  workflow text collate "C" primary key,
  tenant text collate "C" not null,
  partition integer not null,
  generation bigint not null,
  mode text not null,
  -- Empty once the opening was folded: the log has it.
  opening text not null,
  appended boolean not null,
  live boolean not null,
  placed_at timestamptz not null default clock_timestamp()
) with (fillfactor = 80);
create index placements_unappended on placements (generation, partition) where not appended;
create index placements_live on placements (partition) where live;

create table workflows (
  workflow text collate "C" primary key,
  tenant text collate "C" not null,
  partition integer not null,
  generation bigint not null,
  definition text not null,
  version bigint not null,
  status text not null,
  reason text,
  position bigint not null,
  sequence bigint not null,
  checkpoint text,
  belief_sequence bigint not null,
  epoch bigint not null,
  holder text,
  lamport bigint not null,
  opened_at_ms double precision not null,
  updated_at_ms double precision not null,
  tokens double precision not null,
  cost_micros double precision not null,
  last_action text not null,
  runnable boolean not null,
  pending_count bigint not null,
  closed_in_generation bigint,
  state text not null,
  result text
) with (fillfactor = 45);
create index workflows_open on workflows (partition) where closed_in_generation is null;
create index workflows_closed on workflows (partition, closed_in_generation) where closed_in_generation is not null;
create index workflows_runnable on workflows (workflow) where runnable;
create index workflows_leased on workflows (workflow) where holder is not null;
create index workflows_newest on workflows (opened_at_ms desc, workflow);

create table tasks (
  workflow text collate "C" not null,
  -- The sequence that created the task, times 2^20, plus its index.
  rank bigint not null,
  step text not null,
  unblocked boolean not null,
  cause text collate "C",
  state text not null,
  primary key (workflow, rank)
) with (fillfactor = 70);

create table checkpoints (
  workflow text collate "C" not null,
  sequence bigint not null,
  checkpoint text,
  parent text,
  task text,
  step text,
  step_version bigint not null,
  input_digest text not null,
  belief text not null,
  tokens double precision not null,
  cost_micros double precision not null,
  last_action text not null,
  epoch bigint not null,
  holder text not null,
  position bigint not null,
  "offset" bigint not null,
  lamport bigint not null,
  at_ms double precision not null,
  payload text not null,
  primary key (workflow, sequence)
);

create table effects (
  workflow text collate "C" not null,
  task_rank bigint not null,
  key text collate "C" not null,
  operation text not null,
  kind text not null,
  status text not null,
  request_digest text not null,
  response_digest text,
  position bigint not null,
  at_ms double precision not null,
  payload text not null
);
create unique index effects_key on effects (workflow, task_rank, hashtextextended(key, 0), hashtextextended(key, 1));

create table events (
  workflow text collate "C" not null,
  position bigint not null,
  event text collate "C" not null,
  type text not null,
  epoch bigint not null,
  holder text not null,
  lamport bigint not null,
  "offset" bigint not null,
  at_ms double precision not null,
  control text not null,
  payload text not null,
  primary key (workflow, position)
);
create index events_inbox on events (workflow, hashtextextended(event, 0)) where epoch = 0;

create table timers (
  workflow text collate "C" not null,
  timer text collate "C" not null,
  partition integer not null,
  due_at_ms double precision not null
);
create unique index timers_key on timers (workflow, hashtextextended(timer, 0), hashtextextended(timer, 1));
create index timers_due on timers (due_at_ms);

create table rejected (
  partition integer not null,
  "offset" bigint not null,
  workflow text,
  type text,
  reason text not null,
  evidence text not null,
  at_ms double precision not null,
  primary key (partition, "offset")
);
create index rejected_newest on rejected (at_ms desc);

create table owners (
  owner text collate "C" primary key,
  expires_at timestamptz not null
);

create table ranges (
  range integer primary key,
  owner text collate "C"
);
insert into ranges (range) select generate_series(0, 63);

-- The only way that a statement can end its transaction by what it found, without a round trip.
create function tidemark_expect(actual bigint, expected bigint) returns void language plpgsql as $$
begin
  if actual <> expected then
    raise exception 'projection moved: % of % partitions are where they should be', actual, expected
      using errcode = 'TM001';
  end if;
end $$;
`;
