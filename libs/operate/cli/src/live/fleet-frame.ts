/** Owns how the fleet looks on a terminal: what is live, waits, is stuck or recovers, the workers, speed and cost. Pure. */

import type { Answer, Client } from '@tidemark/client';
import { sumOfSpent } from '@tidemark/core';
import type { Painter } from '../terminal.ts';
import { costWords, count, counted, tokenWords, unknownWords } from '../text/units.ts';
import { cut, printable } from '../text/width.ts';

export type Fleet = Answer<'GET /v1/fleet'>;
type Queue = Answer<'GET /v1/queues'>['queues'][number];

/** One view of all workflows. */
export interface FleetView {
  readonly fleet: Fleet;
  /** None while rows are being rebuilt. */
  readonly queues: readonly Queue[];
}

export async function readFleet(client: Client, tenant?: string): Promise<FleetView> {
  const query = tenant === undefined ? {} : { tenant };
  const fleet = await client.ask('GET /v1/fleet', { query });
  if (!fleet.rows_ready) return { fleet, queues: [] };
  return { fleet, queues: (await client.ask('GET /v1/queues', { query })).queues };
}

export interface FrameOptions {
  /** Columns. */
  readonly width: number;
  readonly paint: Painter;
  /** Workers not among these are marked as new; empty: none is. */
  readonly known: ReadonlySet<string>;
}

/** Workers and queues that are listed, at most. */
const ROWS_MAX_COUNT = 8;

export function numbersOf({ fleet: { workflows, workers }, queues }: FleetView) {
  const of = (status: string): number => workflows.find((each) => each.status === status)?.count ?? 0;
  const ready = queues.reduce((sum, { ready_count: count }) => sum + count, 0);
  const held = (isAlive: boolean): number =>
    workers.reduce((sum, worker) => sum + (worker.alive === isAlive ? worker.held_count : 0), 0);
  const [running, recovering] = [held(true), held(false)];
  const live = of('open') + of('compensating');
  return {
    live,
    ready,
    running,
    waiting: Math.max(live - ready - running - recovering, 0),
    stuck: of('parked'),
    recovering,
  };
}

/** Each no wider than the terminal. */
export function fleetLines(style: FleetView, how: FrameOptions): readonly string[] {
  const { width, paint } = how;
  const { workflows, spent, lag, rows_ready: isReady, events_per_second: speeds } = style.fleet;
  const { live, ready, running, waiting, stuck, recovering } = numbersOf(style);
  const ended = workflows.filter(({ status }) => ['completed', 'failed', 'compensated'].includes(status));
  const day = sumOfSpent(spent);
  const red = (value: number, text: string): string => (value > 0 ? paint('red', text) : text);
  const parts = [
    paint('bold', `${count(live)} live`),
    `${count(running)} running`,
    `${count(ready)} ready`,
    `${count(waiting)} waiting`,
    stuck > 0 ? paint('yellow', `${count(stuck)} stuck`) : '0 stuck',
    red(recovering, `${count(recovering)} recovering`),
  ];
  const behind = lag === null || lag.events === 0 ? 'rows up to date' : `${counted(lag.events, 'event')} behind`;
  const perSecond = speeds?.last_minute ?? null;
  const speed = perSecond === null ? '' : `, ${count(perSecond)} events/s`;
  return [
    ...wrapped(parts, width),
    cut(`${ended.map(({ status, count: of }) => `${count(of)} ${status}`).join(', ') || 'nothing has ended'}`, width),
    cut(
      `${isReady ? behind : 'rows are being rebuilt'}${speed}; ${costWords(day)}, ${tokenWords(day)} in 24 h${unknownWords(
        day,
      )
        .map((words) => `, ${words}`)
        .join('')}`,
      width,
    ),
    '',
    ...workerLines(style, how),
    ...queueLines(style, how),
  ];
}

/** Words side by side, on as many lines as they need. */
function wrapped(parts: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  let [line, used] = ['', 0];
  for (const part of parts) {
    const columns = plain(part).length;
    if (used > 0 && used + 3 + columns > width) {
      lines.push(line);
      [line, used] = ['', 0];
    }
    line += used === 0 ? part : `   ${part}`;
    used += columns + (used === 0 ? 0 : 3);
  }
  return [...lines, line];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: paint is made of them.
const plain = (text: string): string => text.replaceAll(/\u001b\[\d+m/g, '');

function workerLines({ fleet: { workers } }: FleetView, { width, paint, known }: FrameOptions): readonly string[] {
  const alive = workers.filter((worker) => worker.alive).length;
  const shown = workers.toSorted((a, b) => Number(a.alive) - Number(b.alive)).slice(0, ROWS_MAX_COUNT);
  const lines = shown.map(({ holder, alive: isAlive, held_count: held }) => {
    const isNew = known.size > 0 && !known.has(holder);
    const state = isAlive ? (isNew ? 'new ' : 'here') : 'gone';
    const text = cut(`  ${state}  ${count(held).padStart(6)} held  ${printable(holder)}`, width);
    return isAlive ? (isNew ? paint('green', text) : text) : paint('red', text);
  });
  const more = workers.length - shown.length;
  return [
    cut(`Workers: ${count(alive)} here`, width),
    ...lines,
    ...(more > 0 ? [cut(`  and ${count(more)} more`, width)] : []),
  ];
}

function queueLines({ queues }: FleetView, { width, paint }: FrameOptions): readonly string[] {
  if (queues.length === 0) return [];
  const shown = queues
    .toSorted((a, b) => b.held.length - a.held.length || b.ready_count - a.ready_count)
    .slice(0, ROWS_MAX_COUNT);
  const lines = shown.map(({ queue, tenant, ready_count, running_count, held }) => {
    const of = tenant === null ? '' : ` of ${printable(tenant)}`;
    const by = held[0] === undefined ? '' : `  PAUSED by ${printable(held[0].by)}: ${printable(held[0].why ?? '')}`;
    const text = cut(
      `  ${count(ready_count).padStart(6)} ready ${count(running_count).padStart(6)} running  ${printable(queue)}${of}${by}`,
      width,
    );
    return held.length > 0 ? paint('yellow', text) : text;
  });
  const more = queues.length - shown.length;
  return ['', 'Queues', ...lines, ...(more > 0 ? [cut(`  and ${count(more)} more`, width)] : [])];
}

/** In words: which workers came and went, and what was paused or resumed. */
export function changesBetween(before: FleetView, now: FleetView): readonly string[] {
  const was = new Map(before.fleet.workers.map((worker) => [worker.holder, worker]));
  const is = new Set(now.fleet.workers.map(({ holder }) => holder));
  const lines: string[] = [];
  for (const { holder, alive, held_count: held } of now.fleet.workers) {
    const old = was.get(holder);
    if (old === undefined && alive) lines.push(`${printable(holder)} came`);
    if (old?.alive === true && !alive) lines.push(`${printable(holder)} died, holding ${counted(held, 'workflow')}`);
  }
  for (const holder of was.keys()) if (!is.has(holder)) lines.push(`${printable(holder)} went`);
  const [pausedBefore, pausedNow] = [pausedNames(before), pausedNames(now)];
  for (const name of pausedNow) if (!pausedBefore.has(name)) lines.push(`queue ${printable(name)} is paused`);
  for (const name of pausedBefore) if (!pausedNow.has(name)) lines.push(`queue ${printable(name)} resumes`);
  const stuck = numbersOf(now).stuck - numbersOf(before).stuck;
  if (stuck > 0) lines.push(`${counted(stuck, 'workflow')} more ${stuck === 1 ? 'waits' : 'wait'} for a person`);
  return lines;
}

const pausedNames = ({ queues }: FleetView): ReadonlySet<string> =>
  new Set(
    queues.flatMap(({ queue, held }) => held.map(({ tenant }) => `${queue}${tenant === null ? '' : ` of ${tenant}`}`)),
  );
