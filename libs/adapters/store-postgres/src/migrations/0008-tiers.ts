/**
 * Owns what the eighth version adds: segments of the archived log and who writes them, workflows whose history is in segments alone, and the index of
 * wrapped data keys. No row is rebuilt: older logs have no segments.
 */

export const name = '0008-tiers';

export const sql = `
-- A coordinator of an earlier version that still runs fails from now on: it would take what was archived for lost.
alter function tidemark_expect_7(bigint, bigint) rename to tidemark_expect_8;

alter table workflows
  -- False: its history is in segments alone, and its state may be empty.
  add column has_rows boolean not null default true,
  -- When its rows were put back from segments.
  add column restored_at_ms double precision;
create index workflows_held on workflows (partition) where has_rows;
create index workflows_restored on workflows (restored_at_ms) where restored_at_ms is not null;

create table segments (
  partition integer not null,
  starts bigint not null,
  ends bigint not null,
  object text not null,
  digest text not null,
  bytes bigint not null,
  raw_bytes bigint not null,
  event_count bigint not null,
  first_at_ms double precision not null,
  last_at_ms double precision not null,
  written_at_ms double precision not null,
  tier text not null,
  rows_dropped boolean not null,
  primary key (partition, starts)
);
create index segments_kept on segments (partition, starts) where not rows_dropped;

create table segment_workflows (
  workflow text collate "C" not null,
  partition integer not null,
  starts bigint not null,
  tenant text collate "C" not null,
  event_count bigint not null,
  raw_bytes bigint not null,
  opens boolean not null,
  closes boolean not null,
  primary key (workflow, partition, starts)
);
create index segment_workflows_place on segment_workflows (partition, starts);
create index segment_workflows_tenant on segment_workflows (tenant);

-- Compactors share the ranges of partitions among themselves, as coordinators do.
alter table owners add column role text collate "C" not null default 'project';
alter table ranges add column role text collate "C" not null default 'project';
alter table ranges drop constraint ranges_pkey, add primary key (role, range);
insert into ranges (role, range) select 'compact', generate_series(0, 63);

create table data_keys (
  id text collate "C" primary key,
  -- All null: it was destroyed, and no later wrapping of it counts.
  tenant text collate "C",
  workflow text collate "C",
  user_id text collate "C",
  provider text,
  wrapped_by text,
  wrapped text
);
create index data_keys_workflow on data_keys (workflow) where workflow is not null;
create index data_keys_owner on data_keys (tenant, user_id) where tenant is not null;

create table key_offsets (
  partition integer primary key,
  next bigint not null
);
`;
