/**
 * `npm run bench -- doors`: LangGraph's checkpoints by Tidemark's saver beside the framework's own: on the cluster beside Postgres, embedded
 * beside SQLite. Rounds are interleaved, and the medians of all saves are reported. And how soon a durable graph goes on after a kill −9,
 * beside steps that do the same, and beside the framework, which is told of the death and invokes its threads again. And conversations of ten
 * thousand turns in the sessions of two agent frameworks.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RunnableConfig } from '@langchain/core/runnables';
import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import { TidemarkSessionStore } from '@tidemark/claude-sessions';
import { configFromEnv, type Host, openCluster, openEmbedded } from '@tidemark/host';
import { TidemarkSaver } from '@tidemark/langgraph';
import { TidemarkSession } from '@tidemark/openai-agents';
import type { EventLog, LogRecord } from '@tidemark/ports';
import { startService } from '@tidemark/testkit/processes';
import { startClusterServers } from '@tidemark/testkit/servers';
import pg from 'pg';
import { installPackages, PEERS_FOLDER } from './peers/install.ts';
import { measurePeers } from './peers/peers.ts';
import { nextState } from './pseudo-random.ts';
import { median, type Report } from './report.ts';
import { PACED_STEP_MS, replaceOften } from './resume.ts';
import { ticks } from './resume-workflows.ts';
import { type System, withSystem } from './system.ts';
import { tickGraph } from './tick-graph.ts';

export const doorParts = ['saves', 'bytes', 'reads', 'kills', 'sessions'] as const;

/** Theirs, whose tables have names that Tidemark's have as well. */
const SCHEMA = 'langgraph';
const ROUNDS = 6;
/** Milliseconds of the same load before anything is measured, of both contenders together: Kafka is compiled in its first half minute (decision 0088). */
const WARM_MS = 45_000;
/** Of one round: each the `putWrites` of a task and the `put` of what follows, which the framework asks for together. */
const SAVES = 100;
/** A state of 10 KB, of which a superstep changes a tenth. */
const ITEMS = 10;
const ITEM_CHARS = 1_024;
const MESSAGES = 500;
const MESSAGE_CHARS = 400;
/** Checkpoints over which bytes are counted, the last ones. */
const COUNTED = 250;
const LENGTHS = [100, 1_000, 10_000];
const KILLS = 8;
const NODES = 200;
const NODE_ROUNDS = 5;
const KILLED_OF_EACH = 4;
const READS = 50;
const TURNS = 10_000;
/** Turns of which the first and the last are reported apart. */
const TURNS_EDGE = 1_000;
const NEWEST_ITEMS = 20;

interface Contender {
  readonly name: string;
  readonly saver: BaseCheckpointSaver;
}

interface World {
  readonly cluster: readonly [ours: Contender, theirs: Contender];
  readonly embedded: readonly [ours: Contender, theirs: Contender];
  readonly hosts: { readonly cluster: Host; readonly embedded: Host };
  /** What Tidemark's savers have appended. */
  readonly appended: Readonly<Record<'cluster' | 'embedded', Appended>>;
  readonly sql: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Appends to a log: their bytes, and how long each took. */
interface Appended {
  bytes: number;
  readonly tookMs: number[];
}

function watched(host: Host): Appended {
  const appended: Appended = { bytes: 0, tookMs: [] };
  const log = host.ports.log as { -readonly [Key in keyof EventLog]: EventLog[Key] };
  const append = log.append.bind(log);
  log.append = async (partition, records) => {
    for (const { value } of records as readonly LogRecord[]) appended.bytes += value.length;
    const begunMs = performance.now();
    const done = await append(partition, records);
    appended.tookMs.push(performance.now() - begunMs);
    return done;
  };
  return appended;
}

export async function measureDoors(report: Report, parts: readonly string[]): Promise<void> {
  if (parts.includes('kills')) await measureKills(report);
  if (parts.every((part) => part === 'kills')) return;
  await installPackages();
  const world = await openWorld();
  try {
    if (parts.includes('saves')) {
      for (const place of ['cluster', 'embedded'] as const) await measureSaves(place, world, report);
    }
    if (parts.includes('bytes')) await measureBytes(world, report);
    if (parts.includes('reads')) await measureReads(world, report);
    if (parts.includes('sessions')) await measureSessions(world, report);
  } finally {
    await world.close();
  }
}

async function openWorld(): Promise<World> {
  const servers = await startClusterServers({ dataIn: 'memory' });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-doors-'));
  const env = {
    TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
    TIDEMARK_POSTGRES_URL: servers.postgres.address,
    TIDEMARK_REDIS_URL: servers.redis.address,
    TIDEMARK_TOPIC: 'bench-doors',
    TIDEMARK_PARTITIONS: '16',
    TIDEMARK_ENCRYPTION: 'off',
    TIDEMARK_AUTH: 'off',
  };
  const cluster = await openCluster(configFromEnv(env));
  // A process of its own, as in a deployment: it is none of the program's that saves.
  const coordinator = await startService('coordinator', env);
  const embedded = await openEmbedded({ folder: path.join(folder, 'state'), encryption: 'off' });
  const { PostgresSaver } = await theirs('postgres');
  const { SqliteSaver } = await theirs('sqlite');
  const postgres = PostgresSaver.fromConnString(servers.postgres.address, { schema: SCHEMA });
  await postgres.setup();
  const pool = new pg.Pool({ connectionString: servers.postgres.address, max: 1 });
  return {
    cluster: [
      { name: 'tidemark', saver: new TidemarkSaver(cluster) },
      { name: 'postgres', saver: postgres },
    ],
    embedded: [
      { name: 'tidemark', saver: new TidemarkSaver(embedded) },
      { name: 'sqlite', saver: SqliteSaver.fromConnString(path.join(folder, 'theirs.db')) },
    ],
    hosts: { cluster, embedded },
    appended: { cluster: watched(cluster), embedded: watched(embedded) },
    sql: async (text, values) => (await pool.query(text, values)).rows as Record<string, unknown>[],
    async close() {
      await pool.end();
      await postgres.end();
      await embedded.close();
      await cluster.close();
      await coordinator.stop();
      await servers.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function measureKills(report: Report): Promise<void> {
  const servers = await startClusterServers({ dataIn: 'memory' });
  const measure = async (system: System): Promise<void> => {
    const worker = await system.service('worker');
    await measureNodes(system, report);
    const idsOf = (kind: string) => Array.from({ length: KILLED_OF_EACH }, (_, n) => `${kind}-${n}`);
    const [graphs, agents] = [idsOf('graph'), idsOf('agent')];
    await system.start(graphs, { history: 0, stepMs: PACED_STEP_MS }, tickGraph);
    await system.start(agents, { history: 0, stepMs: PACED_STEP_MS }, ticks);
    const { rounds } = await replaceOften(KILLS, system, [...graphs, ...agents], 'kill', worker, report);
    const tookMs = (ids: readonly string[]) => rounds.flatMap((round) => ids.flatMap((id) => round.get(id) ?? []));
    report.add('doors.graph.kill9.node_median_ms', median(tookMs(graphs)), 'ms');
    report.add('doors.graph.kill9.node_max_ms', Math.max(...tookMs(graphs)), 'ms');
    report.add('doors.graph.kill9.step_median_ms', median(tookMs(agents)), 'ms');
  };
  try {
    await withSystem(servers, 'graph-kills', 16, measure, ['./test/bench/tick-graph.ts']);
  } finally {
    await servers.stop();
  }
  await measurePeers(report, { only: 'langgraph', parts: ['kill'] });
}

/** Nodes one after the other beside steps, each of a millisecond. */
async function measureNodes(system: System, report: Report): Promise<void> {
  const times = { node: [] as number[], step: [] as number[] };
  // The first round warms up.
  for (let round = 0; round <= NODE_ROUNDS; round++) {
    for (const [kind, workflow] of [['node', tickGraph] as const, ['step', ticks] as const]) {
      const begunMs = performance.now();
      const given = { history: 0, stepMs: 1, steps: NODES };
      const [run] = await system.start([`${kind}s-${round}`], given, workflow);
      await run!.result();
      if (round > 0) times[kind].push((performance.now() - begunMs) / NODES);
    }
  }
  report.add('doors.graph.node_ms', median(times.node), 'ms');
  report.add('doors.graph.step_ms', median(times.step), 'ms');
}

/** The framework's own saver, from the workspace of the peers. */
const theirs = (name: string) =>
  import(
    pathToFileURL(path.join(PEERS_FOLDER, 'node_modules/@langchain', `langgraph-checkpoint-${name}`, 'dist/index.js'))
      .href
  );

/** Words that are not easy to compress, the same for the same number. */
function textOf(seed: number, chars: number): string {
  let text = '';
  for (let state = nextState(seed + 1); text.length < chars; state = nextState(state)) text += `${state.toString(36)} `;
  return text.slice(0, chars);
}

/** A thread whose state is one channel, saved superstep by superstep as the framework does it. */
class Run {
  readonly #saver: BaseCheckpointSaver;
  readonly #thread: string;
  #config: RunnableConfig;
  #version = 0;
  #newest = '';

  constructor(saver: BaseCheckpointSaver, thread: string) {
    this.#saver = saver;
    this.#thread = thread;
    this.#config = { configurable: { thread_id: thread, checkpoint_ns: '' } };
  }

  get newest(): string {
    return this.#newest;
  }

  get place() {
    return { configurable: { thread_id: this.#thread, checkpoint_ns: '' } };
  }

  async save(state: unknown, written: unknown): Promise<void> {
    const versions = { state: ++this.#version };
    const id = uuid6(this.#version);
    const checkpoint = { ...emptyCheckpoint(), id, channel_values: { state }, channel_versions: versions };
    const metadata = { source: 'loop', step: this.#version, parents: {} } as const;
    const isFirst = this.#newest === '';
    const writes = (): Promise<void> => this.#saver.putWrites(this.#config, [['state', written]], uuid6(0), '~~0');
    const before = written === undefined || isFirst ? undefined : writes();
    const put = this.#saver.put(this.#config, checkpoint, metadata, versions);
    [this.#config] = await Promise.all([put, before]);
    this.#newest = id;
  }
}

/** Milliseconds of each save of a thread but the first, which opens it. */
async function saves(saver: BaseCheckpointSaver, thread: string): Promise<readonly number[]> {
  const run = new Run(saver, thread);
  const state = Array.from({ length: ITEMS }, (_, at) => textOf(at, ITEM_CHARS));
  const times: number[] = [];
  for (let n = 0; n < SAVES; n++) {
    state[n % ITEMS] = textOf(n, ITEM_CHARS);
    const begunMs = performance.now();
    await run.save([...state], state[n % ITEMS]);
    if (n > 0) times.push(performance.now() - begunMs);
  }
  return times;
}

async function measureSaves(place: 'cluster' | 'embedded', world: World, report: Report): Promise<void> {
  const contenders = world[place];
  const { tookMs } = world.appended[place];
  const times = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  const warmUntilMs = performance.now() + WARM_MS;
  let warmCount = 0;
  for (; performance.now() < warmUntilMs; warmCount++)
    for (const { saver } of contenders) await saves(saver, `warm-${warmCount}`);
  tookMs.length = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, saver } of round % 2 === 0 ? contenders : contenders.toReversed())
      times.get(name)!.push(...(await saves(saver, `saves-${round}`)));
  }
  const [ours, others] = contenders.map(({ name }) => median(times.get(name)!)) as [number, number];
  for (const [name, all] of times) {
    report.add(`doors.saver.${place}.${name}.save_ms`, median(all), 'ms');
    report.addTail(`doors.saver.${place}.${name}.save_p99_ms`, all, 'ms');
  }
  report.add(`doors.saver.${place}.save_ratio`, ours / others, 'times');
  report.add(`doors.saver.${place}.append_ms`, median(tookMs), 'ms');
  report.add(`doors.saver.${place}.appends_of_a_save`, tookMs.length / (ROUNDS * SAVES), '');
}

async function measureBytes({ cluster: [ours, others], appended, sql }: World, report: Report): Promise<void> {
  const grow = async ({ saver }: Contender, before: () => Promise<void>): Promise<void> => {
    const run = new Run(saver, 'bytes');
    const messages: unknown[] = [];
    for (let n = 0; n < MESSAGES; n++) {
      if (n === MESSAGES - COUNTED) await before();
      const message = { role: n % 2 === 0 ? 'user' : 'assistant', content: textOf(n, MESSAGE_CHARS) };
      messages.push(message);
      await run.save([...messages], [message]);
    }
  };
  let before = 0;
  await grow(ours, async () => {
    before = appended.cluster.bytes;
  });
  const log = (appended.cluster.bytes - before) / COUNTED;
  const [{ bytes: row } = {}] = await sql(
    `select avg(pg_column_size(c.*)) * 2 as bytes from checkpoints c where workflow = 'langgraph:bytes'`,
  );
  const stored = async (): Promise<number> => {
    const sizes = ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'].map(
      (table) => `select sum(pg_column_size(t.*)) as bytes from ${SCHEMA}.${table} t where thread_id = 'bytes'`,
    );
    const rows = await sql(sizes.join(' union all '));
    return rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
  };
  let first = 0;
  await grow(others, async () => {
    first = await stored();
  });
  const theirBytes = ((await stored()) - first) / COUNTED;
  report.add('doors.saver.bytes.tidemark.log', log, 'B');
  report.add('doors.saver.bytes.tidemark.rows', Number(row), 'B');
  report.add('doors.saver.bytes.postgres', theirBytes, 'B');
  report.add('doors.saver.bytes_ratio', (log + Number(row)) / theirBytes, 'times');
}

async function measureReads({ cluster }: World, report: Report): Promise<void> {
  for (const { name, saver } of cluster) {
    const run = new Run(saver, 'reads');
    let count = 0;
    let early = '';
    for (const length of LENGTHS) {
      for (; count < length; count++) {
        await run.save([count], undefined);
        if (count === LENGTHS[0]! / 2) early = run.newest;
      }
      const timed = async (checkpoint_id?: string): Promise<number> => {
        const times: number[] = [];
        const place = {
          configurable: { ...run.place.configurable, ...(checkpoint_id !== undefined && { checkpoint_id }) },
        };
        for (let n = 0; n < READS; n++) {
          const begunMs = performance.now();
          await saver.getTuple(place);
          times.push(performance.now() - begunMs);
        }
        return median(times);
      };
      report.add(`doors.saver.${name}.newest_of_${length}_ms`, await timed(), 'ms');
      report.add(`doors.saver.${name}.early_of_${length}_ms`, await timed(early), 'ms');
    }
  }
}

/** What one session does, whichever framework's it is. */
interface Conversation {
  /** A question and its answer. */
  turn(n: number): Promise<void>;
  /** As another process reads it. */
  readonly reads: Readonly<Record<string, () => Promise<readonly unknown[] | null>>>;
}

async function measureSessions({ hosts }: World, report: Report): Promise<void> {
  for (const [place, host] of Object.entries(hosts)) {
    await measureSession(`openai.${place}`, openaiSession(host), report);
    await measureSession(`claude.${place}`, claudeSession(host), report);
  }
}

async function measureSession(name: string, { turn, reads }: Conversation, report: Report): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < TURNS; n++) {
    const begunMs = performance.now();
    await turn(n);
    times.push(performance.now() - begunMs);
  }
  report.add(`doors.session.${name}.first_appends_ms`, median(times.slice(1, TURNS_EDGE)), 'ms');
  report.add(`doors.session.${name}.last_appends_ms`, median(times.slice(-TURNS_EDGE)), 'ms');
  for (const [what, read] of Object.entries(reads)) {
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    const begunMs = performance.now();
    const items = await read();
    report.add(`doors.session.${name}.${what}_ms`, performance.now() - begunMs, 'ms');
    report.add(`doors.session.${name}.${what}_rss_mb`, Math.max(0, process.memoryUsage().rss - before) / 2 ** 20, 'MB');
    report.add(`doors.session.${name}.${what}_items`, items?.length ?? 0, '');
  }
}

function openaiSession(host: Host): Conversation {
  const session = new TidemarkSession(host, { sessionId: 'long' });
  const other = () => new TidemarkSession(host, { sessionId: 'long' });
  return {
    turn: (n) =>
      session.addItems([
        { role: 'user', content: textOf(2 * n, MESSAGE_CHARS) },
        {
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: textOf(2 * n + 1, MESSAGE_CHARS) }],
        },
      ]),
    reads: { newest: () => other().getItems(NEWEST_ITEMS), all: () => other().getItems() },
  };
}

function claudeSession(host: Host): Conversation {
  const key = { projectKey: 'bench', sessionId: 'long' };
  const store = new TidemarkSessionStore(host);
  const line = (n: number, type: string) => ({
    type,
    uuid: `u-${n}`,
    message: { role: type, content: textOf(n, MESSAGE_CHARS) },
  });
  return {
    turn: (n) => store.append(key, [line(2 * n, 'user'), line(2 * n + 1, 'assistant')]),
    reads: { all: () => new TidemarkSessionStore(host).load(key) },
  };
}
