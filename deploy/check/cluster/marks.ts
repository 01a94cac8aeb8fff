/**
 * Owns what the outside saw: steps that began, marks that effects with keys left, and the judgement of both. It knows nothing of the system but what
 * reached it over HTTP. A run's mark may say that it was the last one wanted, so that a load ends when the one who measures has seen enough.
 */

import { createServer, type Server } from 'node:http';

export interface Seen {
  readonly run: string;
  readonly step: number;
  readonly pod: string;
  /** By the sender's clock, which is this machine's too: what a cut link held back arrives long after. */
  readonly sentMs: number;
  readonly atMs: number;
}
export interface Mark extends Seen {
  readonly key: string;
}

export class Outside {
  readonly attempts: Seen[] = [];
  readonly marks: Mark[] = [];
  readonly #byKey = new Map<string, { last: boolean }>();
  readonly #ending = new Set<string>();

  /** Runs whose names begin so end with their next mark. */
  end(prefix: string): void {
    this.#ending.add(prefix);
  }

  /** Answers a repeated call as the first one. */
  mark(mark: Mark): { readonly last: boolean } {
    this.marks.push(mark);
    const known = this.#byKey.get(mark.key);
    if (known !== undefined) return known;
    const answer = { last: [...this.#ending].some((prefix) => mark.run.startsWith(`${prefix}-`)) };
    this.#byKey.set(mark.key, answer);
    return answer;
  }

  listen(host: string, port: number): Promise<Server> {
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        const seen = { ...(JSON.parse(text) as Mark), atMs: Date.now() };
        const answer = request.url === '/mark' ? this.mark(seen) : {};
        if (request.url === '/attempt') this.attempts.push(seen);
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      });
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => resolve(server));
    });
  }
}

const at = ({ run, step }: Seen): string => `${run} ${step}`;

/** Steps up to the last one of each ended run that left no mark. */
export function lostSteps(ended: ReadonlyMap<string, number>, marks: readonly Mark[]): readonly string[] {
  const marked = new Set(marks.map(at));
  const wanted = [...ended].flatMap(([run, last]) => Array.from({ length: last }, (_, index) => `${run} ${index + 1}`));
  return wanted.filter((step) => !marked.has(step));
}

/** Steps that left marks of two keys: the receiver would have acted twice. */
export function doubledSteps(marks: readonly Mark[]): readonly string[] {
  const keys = new Map<string, Set<string>>();
  for (const mark of marks) keys.set(at(mark), (keys.get(at(mark)) ?? new Set()).add(mark.key));
  return [...keys].flatMap(([step, { size }]) => (size > 1 ? [step] : []));
}

/** From when until when a pod was cut off, in milliseconds since 1970; both the same where it was killed. */
export interface Loss {
  readonly fromMs: number;
  readonly untilMs: number;
}
/** Each loss of each pod: the node of one may be cut off, mended, and lost later. */
export type Lost = ReadonlyMap<string, readonly Loss[]>;

/** Steps of a run that may be in hand at once: what one does outside waits until the one before it is in the log. */
const IN_HAND_COUNT = 2;

/** How many later steps of its run the pod began until then. */
const laterSteps = (attempts: readonly Seen[], { run, step, pod }: Seen, untilMs: number): number =>
  new Set(
    attempts.flatMap((each) =>
      each.run === run && each.pod === pod && each.step > step && each.sentMs <= untilMs ? [each.step] : [],
    ),
  ).size;

/** Steps that began again, but for those that a pod had in hand when it was lost. */
export function repeatedSteps(attempts: readonly Seen[], lost: Lost): readonly string[] {
  const last = new Map<string, Seen>();
  const repeated: string[] = [];
  for (const attempt of attempts.toSorted((a, b) => a.sentMs - b.sentMs)) {
    const before = last.get(at(attempt));
    const losses = before === undefined ? [] : (lost.get(before.pod) ?? []);
    const isInHand = losses.some(
      ({ fromMs, untilMs }) =>
        before!.sentMs <= untilMs && fromMs <= attempt.sentMs && laterSteps(attempts, before!, untilMs) < IN_HAND_COUNT,
    );
    if (before !== undefined && !isInHand) repeated.push(`${at(attempt)} by ${attempt.pod} after ${before.pod}`);
    last.set(at(attempt), attempt);
  }
  return repeated;
}

/** The pod of the newest step of each run that began before. */
export function holders(
  attempts: readonly Seen[],
  prefix: string,
  beforeMs = Number.POSITIVE_INFINITY,
): ReadonlyMap<string, string> {
  const pods = new Map<string, string>();
  for (const { run, pod, atMs } of attempts) if (run.startsWith(`${prefix}-`) && atMs < beforeMs) pods.set(run, pod);
  return pods;
}

/** For each run whose newest step then was one of these pods', how long it took until a step of it began elsewhere; undefined: not yet. */
export function resumedAfterMs(
  attempts: readonly Seen[],
  prefix: string,
  pods: ReadonlySet<string>,
  sinceMs: number,
): readonly (number | undefined)[] {
  const held = [...holders(attempts, prefix, sinceMs)].filter(([, pod]) => pods.has(pod));
  return held.map(([held]) => {
    const next = attempts.find(({ run, pod, atMs }) => run === held && atMs >= sinceMs && !pods.has(pod));
    return next && next.atMs - sinceMs;
  });
}

/** How far the pod with the most or the fewest steps is from an even share, as a share of that. */
export function unevenShare(attempts: readonly Seen[], pods: readonly string[]): number {
  const counts = pods.map((each) => attempts.filter(({ pod }) => pod === each).length);
  const even = counts.reduce((sum, count) => sum + count, 0) / pods.length;
  return Math.max(...counts.map((count) => Math.abs(count - even))) / even;
}
