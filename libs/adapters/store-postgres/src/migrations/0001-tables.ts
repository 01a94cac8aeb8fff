/**
 * Owns the tables, as the first release has them. Never edited once released: a change is a new migration.
 *
 * - Keys compare by bytes (`collate "C"`): the same order on every server and adapter, and the cheapest.
 * - Payloads and states are `text`, as the log holds them. Whole counters are bigint; times, tokens and costs are double precision, since
 *   the wire allows any number there and a row must never fail where the fold accepted.
 * - Names may be 512 characters, more than an index entry holds; where a name is part of a key, the index has two 64-bit hashes of it.
 * - `partitions`, `workflows` and `tasks` are updated in place all the time: their pages keep room, so that an update stays in its page and
 *   touches no index (HOT). An index on a column that changes with every event would prevent that.
 * - Words, their vectors and wrapped keys have no statistics: the samples that Postgres keeps for its planner in tables of its own would
 *   outlast what is forgotten. No plan needs them: statements find their rows by indexes, whatever the values are.
 */

export const name = '0001-tables';

/** Where rows are, what is placed, and who works on which partitions. */
const PLACES = `
create table meta (
  only_row boolean primary key default true check (only_row),
  ready boolean not null default false,
  -- The identity of these tables, new for each rebuild.
  incarnation uuid not null default gen_random_uuid()
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
  placed_at timestamptz not null default clock_timestamp(),
  -- So that placing decides between two starts of one session.
  session text collate "C"
) with (fillfactor = 80);
create index placements_unappended on placements (generation, partition) where not appended;
create index placements_live on placements (partition) where live;
create index placements_session on placements (tenant, hashtextextended(session, 0)) where live and session is not null;

create table owners (
  owner text collate "C" primary key,
  expires_at timestamptz not null,
  role text collate "C" not null default 'project',
  -- The newest migration that the owner's release knows, so that no contraction is applied under an older one.
  knows text collate "C" not null
);

-- Coordinators share the ranges of partitions among themselves, and so do compactors.
create table ranges (
  range integer not null,
  owner text collate "C",
  role text collate "C" not null default 'project',
  primary key (role, range)
);
insert into ranges (role, range) select role, range from unnest(array['project', 'compact']) role, generate_series(0, 63) range;

-- Up to where each partition's spans were exported. Partition -1 stands for the table itself: it is there once anything was remembered.
create table trace_cursors (
  partition int primary key,
  next bigint not null
);

-- The only way that a statement can end its transaction by what it found, without a round trip.
create function tidemark_expect(actual bigint, expected bigint) returns void language plpgsql as $$
begin
  if actual <> expected then
    raise exception 'projection moved: % of % partitions are where they should be', actual, expected
      using errcode = 'TM001';
  end if;
end $$;
`;

/**
 * Lists find workflows by columns that no checkpoint changes, with an index for each query, in the order of lists, so updates touch no
 * index. Generated columns read the state that core serialises, in which quotes within texts are escaped, so that no text looks like a
 * member: every update of a state would touch an index on the state itself.
 */
const WORKFLOWS = `
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
  result text,
  pinned boolean not null default false,
  -- False: its history is in segments alone, and its state may be empty.
  has_rows boolean not null default true,
  -- When its rows were put back from segments.
  restored_at_ms double precision,
  -- So that no history is deleted that a fork shares.
  fork_of text collate "C",
  fork_at bigint,
  fork_effects text,
  session text,
  user_id text,
  tags text[] not null default '{}',
  -- Of the id, the definition, the session, the user and the tags; see searchWords in ports.
  words tsvector not null default '',
  is_bound boolean
    generated always as (position('"parent":{' in state) > 0 and position('"onClose":"abandon"' in state) = 0) stored,
  -- The next run has begun, so that a poll reads few rows. A rebuild derives it again.
  is_continued boolean not null default false
) with (fillfactor = 45);
create index workflows_open on workflows (partition) where closed_in_generation is null;
create index workflows_closed on workflows (partition, closed_in_generation) where closed_in_generation is not null;
create index workflows_runnable on workflows (workflow) where runnable;
create index workflows_leased on workflows (workflow) where holder is not null;
create index workflows_newest on workflows (opened_at_ms desc, workflow);
-- Few at a time, and looked for again and again.
create index workflows_compensating on workflows (workflow) where status = 'compensating';
create index workflows_held on workflows (partition) where has_rows;
create index workflows_restored on workflows (restored_at_ms) where restored_at_ms is not null;
create index workflows_forks on workflows (fork_of, workflow) where fork_of is not null;
create index workflows_of_tenant on workflows (tenant, opened_at_ms desc, workflow);
create index workflows_of_definition on workflows (definition, opened_at_ms desc, workflow);
-- Statuses are counted from it alone.
create index workflows_of_status on workflows (status, opened_at_ms desc, workflow) include (tenant, definition);
create index workflows_of_session on workflows (session, opened_at_ms desc, workflow) where session is not null;
create index workflows_of_user on workflows (user_id, opened_at_ms desc, workflow) where user_id is not null;
create index workflows_tags on workflows using gin (tags) where tags <> '{}';
create index workflows_words on workflows using gin (words);
create index workflows_schedules on workflows (opened_at_ms desc, workflow) where definition like '%~schedule';
create index workflows_bound on workflows (workflow) where is_bound and closed_in_generation is null;
create index workflows_to_continue on workflows (workflow)
  where status = 'completed' and reason = 'continued' and not is_continued;
-- Few workflows are parked, and they are counted by their reason from it alone. A workflow's status is in another index already.
create index workflows_parked on workflows (reason) include (definition) where status = 'parked';

create table tasks (
  workflow text collate "C" not null,
  -- The sequence that created the task, times 2^20, plus its index.
  rank bigint not null,
  step text not null,
  unblocked boolean not null,
  cause text collate "C",
  state text not null,
  -- When a person was asked, in milliseconds, for a task that waits for an answer and for no other task; else null.
  asked_at_ms bigint generated always as (case
    when position('"kind":"approval"' in state) > 0 and position('"after":[],"barrierCount":0,' in state) > 0
    then substring(state from '"askedAtMs":([0-9]{1,16})')::bigint
  end) stored,
  waits_child boolean generated always as (position('"kind":"child"' in state) > 0) stored,
  primary key (workflow, rank)
) with (fillfactor = 70);
create index tasks_asking on tasks (asked_at_ms, workflow, rank) where asked_at_ms is not null;
create index tasks_of_children on tasks (workflow, rank) where waits_child;

create table timers (
  workflow text collate "C" not null,
  timer text collate "C" not null,
  partition integer not null,
  due_at_ms double precision not null
);
create unique index timers_key on timers (workflow, hashtextextended(timer, 0), hashtextextended(timer, 1));
create index timers_due on timers (due_at_ms);

create table sessions (
  tenant text collate "C" not null,
  session text collate "C" not null,
  workflow text collate "C" not null,
  user_id text collate "C",
  lamport bigint not null
);
create unique index sessions_key on sessions (workflow);
create index sessions_newest on sessions (tenant, hashtextextended(session, 0), lamport desc);
`;

/** Payloads and requests here are places of records in the log. */
const HISTORY = `
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
  supersedes bigint,
  primary key (workflow, sequence)
);
-- Few checkpoints correct another, and a page of a history asks which were.
create index checkpoints_corrections on checkpoints (workflow, supersedes, sequence) where supersedes is not null;

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
  payload text not null,
  -- Payload of the intention, which stays beside the outcome's.
  request text
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
`;

/** What a workflow's model calls see and spend. */
const CONTEXTS = `
create table fragments (
  workflow text collate "C" not null,
  sequence bigint not null,
  index integer not null,
  type text not null,
  digest text collate "C" not null,
  call text,
  tool text,
  -- Of a summary: what it stands for, as JSON; and the end of that, by which fragments are looked for.
  covers text,
  covered_sequence bigint,
  covered_index integer,
  -- Of the first fragment of a message that has more than text: as JSON, with the digest of its text.
  parts text,
  primary key (workflow, sequence, index)
);
create index fragments_directives on fragments (workflow, type, sequence desc)
  where type in ('task_goal', 'constraint', 'summary', 'checkpoint_note');

create table texts (
  workflow text collate "C" not null,
  digest text collate "C" not null,
  text text not null,
  primary key (workflow, digest)
);

create table scopes (
  workflow text collate "C" not null,
  sequence bigint not null,
  is_whole boolean not null,
  change text not null,
  primary key (workflow, sequence)
);

create table spends (
  workflow text collate "C" not null,
  key text collate "C" not null,
  tenant text collate "C" not null,
  user_id text collate "C",
  at_ms double precision not null,
  tokens double precision not null,
  cost_micros double precision not null,
  is_settled boolean not null
);
create unique index spends_key on spends (workflow, hashtextextended(key, 0), hashtextextended(key, 1));
create index spends_tenant on spends (tenant, at_ms);
create index spends_open on spends (tenant, at_ms) where not is_settled;

-- What was spent, summed by the hour, so that a budget of a month is not the sum of a month's calls. See sql/spends.ts.
create table spend_hours (
  tenant text collate "C" not null,
  -- Empty: of all of the tenant's users, and of nobody.
  user_key text collate "C" not null,
  hour bigint not null,
  -- Written by one coordinator at a time.
  shard integer not null,
  tokens double precision not null,
  cost_micros double precision not null,
  primary key (tenant, user_key, hour, shard)
) with (fillfactor = 80);
`;

/**
 * Long-term memory.
 *
 * - `words_vector` is what a search for words reads. It holds one lexeme more than the text: the scope of the row, which no text can
 *   contain ('#' is never part of a word), so that the index finds a word among one subject's rows without reading others'.
 * - It stays in the row's page while it fits (`storage main`): ranking reads it, and nothing else.
 * - An index without a list of pending entries: a read never has to search one.
 * - `embedding`: float4 bytes, little endian.
 */
const MEMORIES = `
create sequence memory_marks;
create table memories (
  id bigint generated always as identity primary key,
  tenant text collate "C" not null,
  subject text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  value text not null,
  words text not null,
  source text not null,
  at_ms double precision not null,
  workflow text collate "C" not null,
  position bigint not null,
  ordinal bigint not null,
  lamport bigint not null,
  is_forgotten boolean not null,
  -- Names the words: another one for every change of them.
  mark bigint not null,
  words_vector tsvector not null generated always as (
    case when words = '' then ''::tsvector else
      setweight(to_tsvector('english', left(split_part(words, chr(10), 1), 20000)), 'A') ||
      to_tsvector('english', left(substr(words, strpos(words || chr(10), chr(10)) + 1), 100000)) ||
      array_to_tsvector(array['#' || md5(tenant || chr(10) || subject)])
    end
  ) stored
);
alter table memories alter column words_vector set storage main;
alter table memories alter column words set statistics 0, alter column words_vector set statistics 0;
create unique index memories_key on memories
  (tenant, hashtextextended(subject, 0), hashtextextended(subject, 1), kind, hashtextextended(key, 0), hashtextextended(key, 1));
create index memories_mark on memories (mark) where words <> '';
create index memories_words on memories using gin (words_vector) with (fastupdate = off);

create table memory_embeddings (
  id bigint not null,
  model text collate "C" not null,
  -- Of the words that were embedded.
  mark bigint not null,
  tenant text collate "C" not null,
  subject text collate "C" not null,
  kind text collate "C" not null,
  dimension integer not null,
  embedding bytea not null,
  primary key (id, model)
) with (toast_tuple_target = 8160);
alter table memory_embeddings alter column embedding set statistics 0;
create index memory_embeddings_subject on memory_embeddings
  (tenant, hashtextextended(subject, 0), hashtextextended(subject, 1), model);
`;

/** Segments of the archived log, workflows whose history is in segments alone, and wrapped data keys. */
const TIERS = `
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
alter table data_keys alter column wrapped set statistics 0;
create index data_keys_workflow on data_keys (workflow) where workflow is not null;
create index data_keys_owner on data_keys (tenant, user_id) where tenant is not null;

create table key_offsets (
  partition integer primary key,
  next bigint not null
);
`;

export const sql = [PLACES, WORKFLOWS, HISTORY, CONTEXTS, MEMORIES, TIERS].join('');
