/**
 * Owns the whole fleet in one process: coordinators, workers and a client over one log, one store, one Redis and one outside, all in
 * virtual time from one seed. Processes die and restart here; faults.ts decides when.
 */

import { ConflictError, FencedError, type HolderId, TidemarkError, UnavailableError } from '@tidemark/core';
import { noTelemetry } from '@tidemark/ports';
import {
  Archive,
  Client,
  ColdReads,
  Compactor,
  Coordinator,
  LamportClock,
  loggedStore,
  Pace,
  type Ports,
  Restorer,
  sha256Digest,
  TieredLog,
  tieredStore,
  Worker,
} from '@tidemark/runtime';
import { encodeSegment } from '@tidemark/segments';
import { MemoryObjects } from '../memory-objects.ts';
import { SimulatedLog } from '../simulated-log.ts';
import type { Begun } from './effects.ts';
import { LogView } from './log-view.ts';
import { Network } from './network.ts';
import { type ArchivePlan, objectsView } from './objects-view.ts';
import { Outside } from './outside.ts';
import { answerQuestions, attendFunctions, carryConfirmations, type Speaker } from './people.ts';
import { type Role, SimulatedProcess } from './process.ts';
import type { SeededRandom } from './random.ts';
import { SimulatedRedis } from './redis.ts';
import { hintsView, livenessView, queueView, type Watchers } from './redis-views.ts';
import { Scheduler } from './scheduler.ts';
import { FleetStore, storeView } from './store.ts';
import { Transcript } from './transcript.ts';
import { Witness } from './witness.ts';
import { definitionsFor, type Start } from './workloads.ts';

export interface FleetOptions {
  readonly random: SeededRandom;
  readonly workerCount: number;
  readonly coordinatorCount: number;
  readonly partitionCount: number;
  readonly partitionsMax: number;
  readonly starts: readonly Start[];
  /** Absent: nothing is archived. */
  readonly archive?: ArchivePlan | undefined;
  readonly trustsSilence: boolean;
}

/** A place in the fleet, filled by one incarnation after another. */
interface Slot {
  readonly role: Role;
  readonly name: string;
  incarnationCount: number;
  process: SimulatedProcess | undefined;
  /** Ends it in order, where it can. */
  stop: (() => Promise<void>) | undefined;
  holder: HolderId | undefined;
}

const CONCURRENCY = 16;
/** A worker that is asked to stop and doesn't is killed after so many milliseconds. */
const STOP_MAX_MS = 6_000;
const DRAIN_MAX_MS = 500;
/** A client that received a question polls again after so many milliseconds. */
const PARKED_POLL_MS = 400;

export class Fleet {
  readonly options: FleetOptions;
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly transcript: Transcript;
  readonly network: Network;
  readonly redis: SimulatedRedis;
  readonly store: FleetStore;
  readonly witness: Witness;
  readonly outside: Outside;
  readonly objects = new MemoryObjects('objects');
  readonly begun: Begun[] = [];
  readonly violations: string[] = [];
  /** Processes by the name of the lease holder that they are. */
  readonly holders = new Map<string, SimulatedProcess>();
  /** Share of the appends whose answer is lost. */
  ambiguous = 0;
  readonly #slots: Slot[] = [];
  readonly #watchers: Watchers = new Set();
  /** Error of a new incarnation's clock: a machine keeps its clock. */
  readonly #skews = new Map<string, number>();
  #skewMaxMs = 0;

  constructor(options: FleetOptions) {
    const { random } = options;
    this.options = options;
    this.random = random;
    this.scheduler = new Scheduler(random.fork('scheduler'));
    this.transcript = new Transcript(this.scheduler);
    this.network = new Network(this.scheduler, random.fork('network'));
    this.redis = new SimulatedRedis(this.scheduler, this.network, random.fork('redis'));
    this.store = new FleetStore(this.scheduler);
    this.store.sharesCompaction = options.archive?.isShared ?? true;
    this.witness = new Witness(new SimulatedLog(options.partitionCount), this.transcript);
    this.outside = new Outside({ ...this, random: random.fork('outside') });
    this.#add('coordinator', options.coordinatorCount);
    this.#add('worker', options.workerCount);
    this.#add('compactor', options.archive?.compactorCount ?? 0);
    this.#add('client', 1);
    this.#add('person', 1);
    this.#add('sender', 1);
  }

  #add(role: Role, count: number): void {
    for (let at = 1; at <= count; at++) {
      this.#slots.push({
        role,
        name: `${role}-${at}`,
        incarnationCount: 0,
        process: undefined,
        stop: undefined,
        holder: undefined,
      });
    }
  }

  begin(): void {
    for (const slot of this.#slots) this.#start(slot);
  }

  /** Living processes, of one role or of all. */
  living(role?: Role): SimulatedProcess[] {
    return this.#slots.flatMap(({ process }) =>
      process === undefined || process.isDead || (role !== undefined && process.role !== role) ? [] : [process],
    );
  }

  #slotOf(process: SimulatedProcess): Slot {
    return this.#slots.find((slot) => slot.process === process)!;
  }

  /** Dies silently; the next incarnation begins after `restartMs`. */
  crash(process: SimulatedProcess, restartMs: number, why = 'dies'): void {
    if (process.isDead) return;
    const slot = this.#slotOf(process);
    this.transcript.add(process.name, why);
    process.kill();
    this.redis.disconnect(process);
    for (const watcher of this.#watchers) if (watcher.process === process) this.#watchers.delete(watcher);
    const { holder } = slot;
    if (holder !== undefined) {
      for (const { process: watching, onGone, ended } of this.#watchers) {
        this.scheduler.after(this.network.tripMs('redis'), () =>
          watching.deliver(() => {
            ended.add(holder);
            onGone(holder);
          }),
        );
      }
    }
    this.scheduler.after(restartMs, () => this.#start(slot));
  }

  /** SIGTERM: it may hand over in order, and then is gone. */
  terminate(process: SimulatedProcess, restartMs: number): void {
    const slot = this.#slotOf(process);
    if (slot.stop === undefined || process.isDead) return;
    this.transcript.add(process.name, 'is told to stop');
    process.disturbedMs = Number.POSITIVE_INFINITY;
    const gone = (why: string): void => this.crash(process, restartMs, why);
    const { stop } = slot;
    slot.stop = undefined;
    process.deliver(() => {
      stop().then(
        () => {
          // It has said farewell, so nobody reports its end.
          if (slot.process === process) slot.holder = undefined;
          gone('has stopped');
        },
        (error: unknown) => this.#report(process, 'stop', error),
      );
    });
    this.scheduler.after(STOP_MAX_MS, () => gone('is killed, since it does not stop'));
  }

  /** Sets the machine's clock. */
  setClock(process: SimulatedProcess, skewMs: number): void {
    process.skewMs = skewMs;
    this.#skews.set(this.#slotOf(process).name, skewMs);
    this.#skewMaxMs = Math.max(this.#skewMaxMs, skewMs);
  }

  /** All machines show one time again, after every moment that any of them has shown. */
  alignClocks(): void {
    for (const { name, process } of this.#slots) {
      this.#skews.set(name, this.#skewMaxMs);
      if (process !== undefined) process.skewMs = this.#skewMaxMs;
    }
  }

  #start(slot: Slot): void {
    const name = `${slot.name}.${++slot.incarnationCount}`;
    const process = new SimulatedProcess(name, slot.role, this.scheduler, this.random.fork(name));
    process.skewMs = this.#skews.get(slot.name) ?? 0;
    slot.process = process;
    slot.stop = undefined;
    slot.holder = undefined;
    this.transcript.add(name, 'begins');
    const begin = {
      coordinator: this.#beginCoordinator,
      worker: this.#beginWorker,
      compactor: this.#beginCompactor,
      client: this.#beginClient,
      person: this.#beginPerson,
      sender: this.#beginSender,
    }[slot.role];
    begin.call(this, slot, process, this.#portsOf(process)).catch((error: unknown) => {
      this.#report(process, 'start', error);
      // A process that can't start ends, and is restarted.
      this.crash(process, 100, 'could not start');
    });
  }

  async #beginCoordinator(slot: Slot, process: SimulatedProcess, ports: Ports): Promise<void> {
    const coordinator = new Coordinator({
      ports,
      lamport: new LamportClock(),
      name: process.name,
      onError: (where, error) => this.#report(process, where, error),
    });
    await coordinator.start();
    slot.stop = () => coordinator.stop();
  }

  async #beginWorker(slot: Slot, process: SimulatedProcess, ports: Ports): Promise<void> {
    const worker = new Worker({
      ports,
      lamport: new LamportClock(),
      definitions: this.#definitions(process),
      concurrency: CONCURRENCY,
      onError: (where, error) => this.#report(process, where, error),
    });
    this.holders.set(worker.holder, process);
    slot.holder = worker.holder;
    await worker.start();
    const drainMs = process.random.between(0, DRAIN_MAX_MS);
    slot.stop = () => worker.stop(drainMs);
  }

  async #beginCompactor(slot: Slot, process: SimulatedProcess, ports: Ports): Promise<void> {
    const log = ports.log as TieredLog;
    const compactor = new Compactor({
      ports: { ...ports, log: log.hot },
      archive: log.archive,
      deletions: new Client({ ports, lamport: new LamportClock() }).memory,
      policy: { ...this.options.archive!, segmentWaitMs: 0 },
      pace: new Pace(process, Number.POSITIVE_INFINITY),
      // Threads answer at any time.
      encode: encodeSegment,
      name: process.name,
      onError: (where, error) => this.#report(process, where, error),
    });
    compactor.start();
    slot.stop = () => compactor.stop();
  }

  async #beginClient(_slot: Slot, process: SimulatedProcess, ports: Ports): Promise<void> {
    const client = new Client({ ports, lamport: new LamportClock(), partitionsMax: this.options.partitionsMax });
    const definitions = this.#definitions(process);
    for (const start of this.options.starts) {
      if (start.result !== undefined) continue;
      const delayMs = Math.max(0, start.atMs - this.scheduler.nowMs);
      void process.sleep(delayMs).then(() => this.#follow(process, client, definitions, start));
    }
  }

  async #follow(
    process: SimulatedProcess,
    client: Client,
    definitions: ReturnType<typeof definitionsFor>,
    start: Start,
  ): Promise<void> {
    const definition = definitions.find(({ name }) => name === start.workload)!;
    try {
      const run = await client.start(definition, start.input, { id: start.id });
      if (!start.isAcknowledged) this.transcript.add(process.name, `${start.id} is started`);
      start.isAcknowledged = true;
      start.result = { output: await run.result() };
    } catch (error) {
      if (error instanceof TidemarkError && error.code === 'workflow-parked') {
        // A person will answer, and then it resumes.
        await process.sleep(PARKED_POLL_MS);
        return this.#follow(process, client, definitions, start);
      }
      if (error instanceof TidemarkError && error.code.startsWith('workflow-')) start.result = { error: error.code };
      else this.#report(process, `client of ${start.id}`, error);
    }
    this.transcript.add(process.name, `${start.id} ended: ${JSON.stringify(start.result)}`);
  }

  async #beginPerson(_slot: Slot, process: SimulatedProcess, ports: Ports): Promise<void> {
    void answerQuestions(this.#speaker(process, ports));
  }

  async #beginSender(_slot: Slot, process: SimulatedProcess, ports: Ports): Promise<void> {
    const speaker = this.#speaker(process, ports);
    carryConfirmations(speaker);
    attendFunctions(speaker, this.options.starts);
  }

  #speaker(process: SimulatedProcess, ports: Ports): Speaker {
    const client = new Client({ ports, lamport: new LamportClock() });
    const onError = (where: string, error: unknown): void => this.#report(process, where, error);
    const kill = (holder: string): void => {
      const silent = this.holders.get(holder);
      if (silent?.isDead === false) this.crash(silent, 100, 'is killed by a person');
    };
    return { ...this, process, client, ports, kill, onError };
  }

  #definitions(process: SimulatedProcess): ReturnType<typeof definitionsFor> {
    const onBegun = (begun: Begun): void => void this.begun.push(begun);
    return definitionsFor({ process, outside: this.outside, onBegun, trustsSilence: this.options.trustsSilence });
  }

  #portsOf(process: SimulatedProcess): Ports {
    const dependencies = { ...this.#servers(), process };
    return {
      ...this.#tiers(process),
      queue: queueView(dependencies),
      hints: hintsView(dependencies),
      liveness: livenessView(dependencies, this.#watchers),
      telemetry: noTelemetry,
      clock: process,
      prng: process.random.fork('ids'),
      digest: sha256Digest,
    };
  }

  /** Log and rows, which include archived history where there is any. */
  #tiers(process: SimulatedProcess): Pick<Ports, 'log' | 'store' | 'cold'> {
    const log = new LogView({ ...this.#servers(), process, ambiguous: () => this.ambiguous });
    const store = storeView(this.store, this.network, process);
    if (this.options.archive === undefined) return { log, store: loggedStore(store, log) };
    const archive = new Archive({ warm: objectsView(this.objects, this.network, process) });
    const tiered = new TieredLog(log, archive);
    const restorer = new Restorer({ log: tiered, store, clock: process }, archive);
    return {
      cold: new ColdReads({ archive, clock: process }),
      log: tiered,
      store: tieredStore(loggedStore(store, tiered), restorer),
    };
  }

  #servers() {
    const { witness, network, scheduler, redis } = this;
    return { witness, network, scheduler, redis };
  }

  /** Processes must survive unreachable servers and lost leases; any other error is their fault. */
  #report(process: SimulatedProcess, where: string, error: unknown): void {
    if (process.isDead) return;
    const text =
      error instanceof TidemarkError
        ? `${error.code}: ${error.message} ${JSON.stringify(error.details)}`
        : String(error);
    this.transcript.add(process.name, `${where}: ${text}`);
    if (error instanceof UnavailableError || error instanceof FencedError || error instanceof ConflictError) return;
    this.violations.push(`unexpected error in ${process.name}, ${where}: ${text}`);
  }
}
