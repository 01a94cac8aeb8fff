/**
 * Owns the stages of the tests: the files of each. A file that no long stage names belongs to `quick`, which is what `npm test` runs; `npm
 * run verify` and CI add the long ones. Must name every file once at most.
 */

export interface LongStage {
  /** What it proves. */
  readonly about: string;
  /** Files, or folders followed by `/**`, from the project's root. */
  readonly files: readonly string[];
}

export const QUICK = 'quick';
/** A long stage that is a program: the tests of `quick`, run on a source with one fault after the other. */
export const MUTATIONS = 'mutations';

export const LONG_STAGES: Readonly<Record<string, LongStage>> = {
  e2e: {
    about:
      'The examples, run whole as real processes, killed and resumed; traces in Jaeger with `npm run jaeger` alone.',
    files: [
      'test/e2e/audit-command.test.ts',
      'test/e2e/audit.test.ts',
      'test/e2e/audit.cluster.test.ts',
      'test/e2e/jaeger.test.ts',
      'test/e2e/researcher.test.ts',
      'examples/patterns/src/crash.test.ts',
      'libs/operate/cli/src/crash-test.test.ts',
      'libs/operate/cli/src/crash-test-ends.test.ts',
      'libs/operate/mcp/src/stdio.test.ts',
    ],
  },
  folders: {
    about: 'Commands and hosts that open and close a folder each, as people use them.',
    files: [
      'libs/author/files/src/alternating.test.ts',
      'libs/operate/cli/src/archive.test.ts',
      'libs/operate/cli/src/bundle.test.ts',
      'libs/operate/cli/src/commands/mcp.test.ts',
      'libs/operate/cli/src/commands/memory.test.ts',
      'libs/operate/cli/src/dev-compaction.test.ts',
      'libs/operate/cli/src/files.test.ts',
      'libs/operate/cli/src/folder.test.ts',
      'libs/operate/cli/src/fork.test.ts',
      'libs/operate/cli/src/large-payloads.test.ts',
      'libs/operate/cli/src/lifecycle.test.ts',
      'libs/operate/cli/src/new-build.test.ts',
      'libs/operate/cli/src/rebuild.test.ts',
      'libs/operate/cli/src/recovery.test.ts',
      'libs/operate/cli/src/schedule.test.ts',
      'libs/operate/cli/src/trace.test.ts',
      'libs/operate/cli/src/undo.test.ts',
      'libs/operate/cli/src/unreadable.test.ts',
      'libs/operate/cli/src/versions.test.ts',
      'libs/operate/host/src/audit.test.ts',
      'libs/operate/host/src/continuing.test.ts',
      'libs/operate/host/src/deletions.test.ts',
      'libs/operate/host/src/memory-words.test.ts',
      'libs/operate/host/src/encryption.test.ts',
      'libs/operate/host/src/forgetting-scan.test.ts',
      'libs/operate/host/src/forgetting.test.ts',
      'libs/operate/host/src/large-payloads.test.ts',
      'libs/operate/host/src/rebuild.test.ts',
      'libs/operate/host/src/reopened.test.ts',
      'libs/operate/host/src/secrets.test.ts',
      'test/api/queues.test.ts',
      'test/api/unread.test.ts',
      'test/bench/tiers/tiers.test.ts',
      'test/integration/large-answers.test.ts',
    ],
  },
  worlds: {
    about: 'Many workflows in worlds, or few that wait for as long as they do in life.',
    files: [
      'libs/testkit/src/lifecycle.test.ts',
      'libs/testkit/src/model-limits.test.ts',
      'libs/testkit/src/schedules.test.ts',
      'test/integration/shadow.test.ts',
      'test/providers/fault-runs.test.ts',
    ],
  },
  chaos: {
    about: 'Processes and servers killed at random, judged by the whole history.',
    files: ['test/chaos/chaos.cluster.test.ts', 'test/chaos/compactor.cluster.test.ts', 'test/chaos/pipeline.test.ts'],
  },
  integration: {
    about: 'Services on real servers, and servers that fail, hang, lie and come back.',
    files: [
      'test/integration/failovers.test.ts',
      'test/integration/faults.cluster.test.ts',
      'test/integration/forgetting.cluster.test.ts',
      'test/integration/health.cluster.test.ts',
      'test/integration/stream.cluster.test.ts',
      'test/integration/tls.cluster.test.ts',
      'test/integration/sasl.cluster.test.ts',
      'test/integration/zombie.cluster.test.ts',
      'libs/operate/cli/src/access.cluster.test.ts',
      'libs/operate/cli/src/every-command.cluster.test.ts',
      'libs/adapters/log-kafka/src/doubt.kafka.test.ts',
      'libs/adapters/queue-bullmq/src/redis-faults.redis.test.ts',
      'libs/adapters/store-postgres/src/pglite-faults.test.ts',
      'libs/adapters/store-postgres/src/schema-rebuild.postgres.test.ts',
      'libs/testkit/src/servers/servers.cluster.test.ts',
      'test/api/published-patterns.test.ts',
    ],
  },
  doors: {
    about:
      'Suites that other frameworks publish for what stands below them, on the embedded default and the cluster; crash tests of programs on them.',
    files: [
      'libs/author/claude-sessions/src/session-store.cluster.test.ts',
      'libs/author/langgraph/src/durable-graph-deaths.test.ts',
      'libs/author/langgraph/src/durable-graph.cluster.test.ts',
      'libs/author/langgraph/src/saver.test.ts',
      'libs/author/langgraph/src/saver.cluster.test.ts',
      'libs/author/openai-agents/src/session.cluster.test.ts',
      'libs/author/openai-agents/src/stream.cluster.test.ts',
      'libs/operate/cli/src/crash-test-doors.test.ts',
    ],
  },
  simulation: {
    about:
      'Seeds of the simulated fleet: each workload, each kind of fault, what once failed, and five hundred others for each commit.',
    files: ['test/simulation/search.test.ts', 'test/simulation/simulation.test.ts'],
  },
  fuzz: {
    about: 'Every route of the API, asked what its document allows and what it does not; services under attack.',
    files: ['test/fuzz/**', 'test/hostile/**'],
  },
  console: { about: 'The console, and the chat example, in Chromium.', files: ['test/console/**'] },
  docs: {
    about: 'What the documentation shows, compiled, run and linked.',
    files: [
      'test/docs.test.ts',
      'test/docs/**',
      'examples/guides/src/guides.test.ts',
      'examples/guides/src/refund.test.ts',
      'libs/operate/cli/src/runbook.test.ts',
      'libs/operate/cli/src/tutorial.test.ts',
    ],
  },
  deploy: { about: 'Helm chart, Compose file, image, dashboards and alerts.', files: ['test/deploy/**'] },
  'supply-chain': {
    about: 'Licences, lock files, SBOM, and manifests; the packages themselves (built/) with `npm run packages` alone.',
    files: ['test/supply-chain/**', 'test/packages/**'],
  },
  upgrade: {
    about: 'A fleet under load whose processes are replaced by the next release and back.',
    files: ['test/integration/upgrade.cluster.test.ts'],
  },
};

export const isStage = (name: string): boolean =>
  name === QUICK || name === MUTATIONS || Object.hasOwn(LONG_STAGES, name);

const isNamed = (pattern: string, file: string): boolean =>
  pattern.endsWith('/**') ? file.startsWith(pattern.slice(0, -2)) : file === pattern;

/** The stage of a test file. `file`: from the project's root, with `/` on every system. */
export function stageOf(file: string): string {
  for (const [name, { files }] of Object.entries(LONG_STAGES)) {
    if (files.some((pattern) => isNamed(pattern, file))) return name;
  }
  return QUICK;
}

/** Files that vitest includes and excludes for these stages; without stages: every file. */
export function selectionOf(stages: readonly string[]): {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
} {
  if (stages.length === 0) return { include: ALL_FILES, exclude: [] };
  const patternsOf = (names: readonly string[]) =>
    names.flatMap((name) => (LONG_STAGES[name]?.files ?? []).map((file) => file.replace(/\/\*\*$/, '/**/*.test.ts')));
  const others = Object.keys(LONG_STAGES).filter((name) => !stages.includes(name));
  if (stages.includes(QUICK)) return { include: ALL_FILES, exclude: patternsOf(others) };
  return { include: patternsOf(stages), exclude: [] };
}

export const ALL_FILES: readonly string[] = [
  'libs/**/*.test.ts',
  'services/**/*.test.ts',
  'examples/**/*.test.ts',
  'test/**/*.test.ts',
];
