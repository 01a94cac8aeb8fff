/**
 * Owns the attackers: a thread that sends requests, hostile or valid, over many connections from many addresses of this machine, at a
 * rate or as fast as they are answered, and counts what comes back. It sends to the loopback range alone.
 */

import { once } from 'node:events';
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { SeededRandom } from '@tidemark/testkit/simulation/random';
import { ANSWER_TIMEOUT_MS, CONNECTIONS_COUNT } from './limits.ts';
import { type Credentials, type HostileRequest, hostileRequest, validRequest } from './requests.ts';

export interface Attack {
  readonly port: number;
  readonly seed: string;
  readonly attackers: readonly (Credentials & { readonly workflow: string })[];
}

export interface Order {
  readonly kind: 'hostile' | 'valid';
  /** As many, or for as long. */
  readonly count: number;
  readonly forMs: number;
  /** Requests a second; 0: as fast as they are answered. */
  readonly rate: number;
}

export interface Outcome {
  readonly sent: number;
  /** How many had each status; 0: the connection was closed without one, or none came in time. */
  readonly statuses: Readonly<Record<string, number>>;
  /** 5xx but 503, and requests without an answer in time, by kind: at most a few of each. */
  readonly faults: readonly string[];
}

const FAULTS_KEPT = 20;
const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** The status of the answer; 0 when the connection ends without one; undefined when nothing comes in time. */
async function send(port: number, from: string, { pieces, isCut }: HostileRequest): Promise<number | undefined> {
  const socket = net.connect({ host: '127.0.0.1', port, localAddress: from });
  let answer = '';
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  socket.on('data', (chunk) => {
    if (answer.length < 16) answer += chunk.toString('latin1');
    const status = STATUS.exec(answer)?.[1];
    if (status !== undefined && status !== '100') resolve(Number(status));
  });
  // Whoever is refused in the middle of a body may be cut off before it reads why.
  socket.on('error', () => {});
  socket.on('close', () => resolve(0));
  const timer = setTimeout(() => resolve(undefined), ANSWER_TIMEOUT_MS);
  try {
    await Promise.race([once(socket, 'connect'), promise]);
    for (const piece of pieces) {
      if (socket.destroyed) break;
      socket.write(piece);
    }
    // The server need not wait for what won't come.
    if (isCut === true) socket.end();
    return await promise;
  } catch {
    return 0;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

async function carryOut({ port, seed, attackers }: Attack, { kind, count, forMs, rate }: Order): Promise<Outcome> {
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  const startedMs = performance.now();
  let sent = 0;
  const isOver = (): boolean => sent >= count || performance.now() - startedMs > forMs;
  const one = async (lane: number): Promise<void> => {
    const random = new SeededRandom(`${seed}/${kind}/${lane}`);
    while (!isOver()) {
      const number = sent++;
      if (rate > 0) {
        const aheadMs = startedMs + (number * 1_000) / rate - performance.now();
        if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
      }
      const attacker = random.pick(attackers);
      const request = (kind === 'hostile' ? hostileRequest : validRequest)(random, attacker, attacker.workflow);
      const from = `127.${random.count(1, 254)}.${random.count(1, 254)}.${random.count(1, 254)}`;
      const status = await send(port, from, request);
      const name = status === undefined ? 'none' : String(status);
      statuses[name] = (statuses[name] ?? 0) + 1;
      const isFault = status === undefined || (status >= 500 && status !== 503);
      if (isFault && faults.length < FAULTS_KEPT) {
        faults.push(
          `${name}: ${request.kind}: ${Buffer.concat(request.pieces.map((piece) => Buffer.from(piece)))
            .toString('latin1')
            .slice(0, 400)}`,
        );
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS_COUNT }, (_, lane) => one(lane)));
  return { sent, statuses, faults };
}

parentPort?.on('message', async (order: Order) => {
  parentPort!.postMessage(await carryOut(workerData as Attack, order));
});
