/**
 * Owns the list of test files that take longer than five seconds, and the time that `npm test` may take. An entry says why its file has to
 * be slow; test/stages.test.ts keeps the sum within the budget.
 */

/** A file that takes longer is on the list. */
export const SLOW_FILE_S = 5;
/** Seconds of all test files of `npm test` together, on a quiet machine of two cores. */
export const QUICK_BUDGET_S = 430;

export interface SlowFile {
  /** Measured in a run of its stage, on a quiet machine of two cores; files start in this order. */
  readonly seconds: number;
  /** Why it can't be quicker, or be divided. */
  readonly why: string;
}

export const SLOW_FILES: Readonly<Record<string, SlowFile>> = {
  'examples/patterns/src/crash.test.ts': { seconds: 6, why: 'Patterns as real processes, killed at each step.' },
  'libs/adapters/blob-s3/src/s3-blobs.s3.test.ts': { seconds: 7, why: 'The whole contract over a real S3 server.' },
  'libs/adapters/blob-s3/src/s3-objects.s3.test.ts': {
    seconds: 6,
    why: 'The whole contract over a real S3 server, with more than a page of objects and servers that do not answer.',
  },
  'libs/author/claude-sessions/src/session-store.cluster.test.ts': {
    seconds: 10,
    why: 'The framework’s checks on real servers, and a session of 50 MB.',
  },
  'libs/author/files/src/alternating.test.ts': {
    seconds: 60,
    why: 'Four pipelines of five steps by real processes, each of which opens the folder, most of them killed.',
  },
  'libs/author/langgraph/src/durable-graph.cluster.test.ts': {
    seconds: 14,
    why: 'Real processes on a folder and on servers, each killed within a graph, and a store of a thousand keys.',
  },
  'libs/author/langgraph/src/durable-graph-deaths.test.ts': {
    seconds: 7,
    why: 'Seven graphs whose worker dies at each boundary, in a run for each.',
  },
  'libs/author/langgraph/src/graphs.test.ts': {
    seconds: 6,
    why: 'Graphs whose process dies at each of nine appends, before and after, for three durabilities.',
  },
  'libs/author/langgraph/src/saver.test.ts': {
    seconds: 18,
    why: 'The seven hundred cases of the framework’s suite, on a folder.',
  },
  'libs/author/langgraph/src/saver.cluster.test.ts': {
    seconds: 20,
    why: 'The seven hundred cases of the framework’s suite, on real servers.',
  },
  'libs/author/openai-agents/src/session.cluster.test.ts': { seconds: 6, why: 'A session of 50 MB on real servers.' },
  'libs/operate/cli/src/access.cluster.test.ts': {
    seconds: 12,
    why: 'Two coordinators on real servers, and a database that is dropped below them.',
  },
  'libs/operate/cli/src/archive.test.ts': {
    seconds: 20,
    why: 'History has to grow older than a second, and each command opens the folder.',
  },
  'libs/operate/cli/src/crash-test.test.ts': {
    seconds: 14,
    why: 'Small agents as real processes, each started again after each kill.',
  },
  'libs/operate/cli/src/crash-test-ends.test.ts': {
    seconds: 11,
    why: 'Small agents as real processes, and a crash test that is killed.',
  },
  'libs/operate/cli/src/crash-test-doors.test.ts': {
    seconds: 70,
    why: 'Programs of two frameworks as real processes, each started again after each kill.',
  },
  'libs/operate/cli/src/dev-compaction.test.ts': {
    seconds: 8,
    why: 'History has to grow older than a second, in a folder that is opened three times.',
  },
  'libs/operate/cli/src/embedded.test.ts': {
    seconds: 14,
    why: 'The short run on the embedded default: real processes, one of them killed.',
  },
  'libs/operate/cli/src/every-command.cluster.test.ts': {
    seconds: 11,
    why: 'Every command in a folder, beside a process that holds it, and over HTTP.',
  },
  'libs/operate/cli/src/files.test.ts': { seconds: 9, why: 'Commands that open the folder each.' },
  'libs/operate/cli/src/folder.test.ts': { seconds: 10, why: 'Commands wait for a folder that others hold.' },
  'libs/operate/cli/src/fork.test.ts': { seconds: 6, why: 'Commands that open the folder each.' },
  'libs/operate/cli/src/functions.test.ts': { seconds: 6, why: 'Some forty commands on runs that wait for answers.' },
  'libs/operate/cli/src/lifecycle.test.ts': { seconds: 7, why: 'Commands that open the folder each.' },
  'libs/operate/cli/src/new-build.test.ts': {
    seconds: 6,
    why: 'Three processes one after another: only a new one loads the mended file.',
  },
  'libs/operate/cli/src/rebuild.test.ts': { seconds: 9, why: 'Rows are rebuilt, and each command opens the folder.' },
  'libs/operate/cli/src/recovery.test.ts': { seconds: 10, why: 'Commands that open the folder each.' },
  'libs/operate/cli/src/runbook.test.ts': { seconds: 6, why: 'Every command of the runbook.' },
  'libs/operate/cli/src/schedule.test.ts': {
    seconds: 7,
    why: 'Commands that open the folder each, and a schedule that fires.',
  },
  'libs/operate/cli/src/trace.test.ts': {
    seconds: 7,
    why: 'A process that is killed, and history that has to grow older than a second.',
  },
  'libs/operate/cli/src/tutorial.test.ts': { seconds: 9, why: 'Every command of the tutorial.' },
  'libs/operate/cli/src/undo.test.ts': { seconds: 10, why: 'Commands that open the folder each.' },
  'libs/operate/cli/src/unreadable.test.ts': { seconds: 9, why: 'Commands on a folder that is opened three times.' },
  'libs/operate/cli/src/versions.test.ts': { seconds: 11, why: 'Commands that open the folder each.' },
  'libs/operate/host/src/audit.test.ts': {
    seconds: 9,
    why: 'Entries are written in lanes, and history has to be archived.',
  },
  'libs/operate/host/src/continuing.test.ts': { seconds: 7, why: 'A host that is opened again on its folder.' },
  'libs/operate/host/src/embedded.test.ts': { seconds: 6, why: 'A host that is opened again on its folder.' },
  'libs/operate/host/src/encryption.test.ts': {
    seconds: 16,
    why: 'Hosts under changing keys, each opening the folder, in every tier.',
  },
  'libs/operate/host/src/forgetting-scan.test.ts': {
    seconds: 7,
    why: 'Runs that say something everywhere, and rows that are made anew.',
  },
  'libs/operate/host/src/forgetting.test.ts': {
    seconds: 8,
    why: 'Hosts under changing keys, each opening the folder, in every tier.',
  },
  'libs/operate/host/src/large-payloads.test.ts': {
    seconds: 11,
    why: 'Large payloads in every tier, with hosts that open the folder each.',
  },
  'libs/operate/host/src/rebuild.test.ts': {
    seconds: 13,
    why: 'Rows are rebuilt again and again, each time from a folder that was filled and closed.',
  },
  'libs/operate/host/src/reopened.test.ts': { seconds: 6, why: 'Four hosts, each on a folder.' },
  'libs/operate/host/src/secrets.test.ts': { seconds: 9, why: 'Hosts under changing keys, each opening the folder.' },
  'libs/adapters/log-kafka/src/doubt.kafka.test.ts': {
    seconds: 18,
    why: 'A broker of its own that is killed in the middle of appends.',
  },
  'libs/adapters/log-kafka/src/key-topic.kafka.test.ts': { seconds: 7, why: 'Kafka compacts a topic when it does.' },
  'libs/operate/mcp/src/stdio.test.ts': { seconds: 10, why: 'Real processes, killed.' },
  'libs/adapters/queue-bullmq/src/redis-faults.redis.test.ts': {
    seconds: 12,
    why: 'A Redis of its own that is killed, hung and flushed.',
  },
  'libs/adapters/store-postgres/src/pglite-faults.test.ts': {
    seconds: 21,
    why: 'Processes that are killed while they write to a folder.',
  },
  'libs/adapters/store-postgres/src/pglite-store.test.ts': {
    seconds: 12,
    why: 'The whole contract over a database in memory.',
  },
  'libs/adapters/store-postgres/src/schema-rebuild.postgres.test.ts': {
    seconds: 9,
    why: 'Locks that time out on a real Postgres.',
  },
  'libs/testkit/src/lifecycle.test.ts': {
    seconds: 8,
    why: 'The grace of a step that ignores its cancellation is ten seconds.',
  },
  'libs/testkit/src/model-limits.test.ts': {
    seconds: 7,
    why: 'Calls that wait for their turn, for as long as providers ask.',
  },
  'libs/testkit/src/reset.test.ts': { seconds: 9, why: 'Whole runs of parents and children, each of them twice.' },
  'libs/testkit/src/schedules.test.ts': { seconds: 9, why: 'Days of schedules in worlds whose clock is moved on.' },
  'libs/testkit/src/secret-policy.test.ts': {
    seconds: 7,
    why: 'A secret in each place that a workflow stores something in, by each policy, in worlds of their own.',
  },
  'libs/testkit/src/servers/servers.cluster.test.ts': {
    seconds: 12,
    why: 'Servers of its own that are killed and started again.',
  },
  'libs/operate/traces/src/live-traces.test.ts': { seconds: 6, why: 'Spans leave once a second.' },
  'test/api/access-matrix.test.ts': { seconds: 7, why: 'Every route by every role of every tenant.' },
  'test/api/follow.test.ts': { seconds: 12, why: 'A follower that reads nothing is cut off after a time.' },
  'test/api/published-patterns.test.ts': { seconds: 12, why: 'Go compiles its own library where it has not before.' },
  'test/api/queues.test.ts': { seconds: 6, why: 'Rows that are dropped below a host that is opened again.' },
  'test/bench/tiers/tiers.test.ts': { seconds: 7, why: 'A benchmark in small.' },
  'test/chaos/chaos.cluster.test.ts': { seconds: 43, why: 'Half a minute of random faults.' },
  'test/chaos/compactor.cluster.test.ts': { seconds: 40, why: 'Compactors that are killed while workflows run.' },
  'test/chaos/pipeline.test.ts': { seconds: 38, why: 'A pipeline that is killed again and again.' },
  'test/console/chat.test.ts': { seconds: 20, why: 'A process that is killed below a page in Chromium.' },
  'test/console/console.test.ts': { seconds: 11, why: 'Every page in Chromium.' },
  'test/console/killed.test.ts': { seconds: 20, why: 'A process that is killed below an open page.' },
  'test/deploy/chart.test.ts': { seconds: 6, why: 'Helm renders the chart for each case.' },
  'test/docs.test.ts': { seconds: 21, why: 'Every fence of TypeScript is compiled and run.' },
  'test/e2e/audit-command.test.ts': { seconds: 34, why: 'The example as a real command, killed and resumed.' },
  'test/e2e/audit.cluster.test.ts': { seconds: 30, why: 'The example on a cluster whose workers are killed.' },
  'test/e2e/audit.test.ts': { seconds: 37, why: 'The example, killed again and again, against an uninterrupted run.' },
  'test/e2e/researcher.test.ts': { seconds: 22, why: 'The example as a real process, killed after each step.' },
  'test/fuzz/fuzz.test.ts': { seconds: 31, why: 'Every route of the API with examples of schemathesis.' },
  'test/hostile/hostile.cluster.test.ts': {
    seconds: 40,
    why: 'Thousands of hostile requests and records at real services.',
  },
  'test/integration/failovers.test.ts': {
    seconds: 30,
    why: 'Replicas that take over, and poolers, on servers of its own.',
  },
  'test/integration/faults.cluster.test.ts': { seconds: 45, why: 'Servers that are killed below services.' },
  'test/integration/forgetting.cluster.test.ts': {
    seconds: 15,
    why: 'Four servers of its own, whose files are searched.',
  },
  'test/integration/health.cluster.test.ts': { seconds: 20, why: 'A broker that goes and comes back below services.' },
  'test/integration/large-answers.test.ts': { seconds: 9, why: 'A host that is opened twice, with megabytes.' },
  'test/integration/shadow.test.ts': { seconds: 10, why: 'Shadows of dozens of workflows.' },
  'test/integration/stream.cluster.test.ts': {
    seconds: 25,
    why: 'Two coordinators, and two workers, one of which is killed.',
  },
  'test/integration/sasl.cluster.test.ts': { seconds: 20, why: 'A broker of its own, which is started twice.' },
  'test/integration/tls.cluster.test.ts': { seconds: 8, why: 'Every server with certificates, some of them wrong.' },
  'test/integration/upgrade.cluster.test.ts': {
    seconds: 24,
    why: 'A fleet whose processes are replaced by another release and back.',
  },
  'test/integration/zombie.cluster.test.ts': { seconds: 60, why: 'Workers that are stopped, replaced and let go on.' },
  'test/providers/fault-runs.test.ts': {
    seconds: 20,
    why: 'Every fault of every family of providers, over real HTTP, with six failures each.',
  },
  'test/simulation/guards.test.ts': { seconds: 9, why: 'A process for each of 42 guards.' },
  'test/simulation/search.test.ts': { seconds: 37, why: 'Five hundred seeds of the simulated fleet.' },
  'test/simulation/simulation.test.ts': {
    seconds: 13,
    why: 'Twenty seeds of the simulated fleet, each workload, and each kind of fault.',
  },
};
