/** Owns the picture above the list: who held the workflow when, where checkpoints and calls lie in it, and where workers were lost. */

import type { Entry } from '@tidemark/core/timeline';
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import { Worker } from '../parts/words.tsx';
import { duration, plain } from '../text/format.ts';
import type { Timeline } from './rows.ts';
import { type Scale, scaleOf } from './scale.ts';

const LANE_PX = 22;
const TOP_PX = 18;
/** Lanes with a line of their own; further workers share the last one. */
const LANES_SHOWN_COUNT = 6;
/** Shorter ones are too narrow for a label with their length. */
const GAP_REPORTED_MS = 1_000;

export interface OverviewProps {
  readonly timeline: Timeline;
  readonly version: number;
  readonly nowMs: number | undefined;
  readonly selected: number | undefined;
  readonly onPick: (row: number) => void;
}

export const Overview = memo(function Overview({ timeline, version, nowMs, selected, onPick }: OverviewProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { holders, leases, openedAtMs } = timeline;
  const toMs = timeline.isClosed ? timeline.newestAtMs : Math.max(timeline.newestAtMs, nowMs ?? 0);
  const scale = useMemo(() => {
    void version;
    return scaleOf(leases, [openedAtMs, toMs], Math.max(width, 10));
  }, [leases, openedAtMs, toMs, width, version]);
  const lanes = Math.max(1, Math.min(holders.length, LANES_SHOWN_COUNT));
  const height = TOP_PX + lanes * LANE_PX;
  const marks = useMemo(() => {
    void version;
    return marksOf(timeline.rows, scale);
  }, [timeline, scale, version]);
  const pick = (x: number): void => {
    const row = nearest(timeline.rows, scale, x);
    if (row !== undefined) onPick(row);
  };
  const at = selected === undefined ? undefined : timeline.rows[selected];
  return (
    <div className="overview">
      <ul className="overview-names" style={{ paddingTop: TOP_PX }} aria-label="Workers">
        {holders.slice(0, LANES_SHOWN_COUNT).map((holder, lane) => (
          <li key={holder} style={{ height: LANE_PX }}>
            <Worker holder={holder} lane={lane} />
            {lane === LANES_SHOWN_COUNT - 1 && holders.length > LANES_SHOWN_COUNT ? (
              <small className="dim">+{holders.length - LANES_SHOWN_COUNT}</small>
            ) : null}
          </li>
        ))}
      </ul>
      <div ref={box} className="overview-picture">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list below is what the keyboard moves in */}
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={saying(timeline)}
          onClick={(event) => pick(event.clientX - event.currentTarget.getBoundingClientRect().left)}
        >
          <Gaps scale={scale} height={height} />
          <Ticks scale={scale} fromMs={openedAtMs} height={height} />
          {leases.map((lease, index) => {
            const [x, y] = [scale.at(lease.fromMs), laneTop(lease.lane)];
            const wide = Math.max(scale.at(lease.toMs ?? toMs) - x, 2);
            return (
              <rect
                key={index}
                className={lease.end === 'live' ? 'held live' : 'held'}
                data-lane={lease.lane % 6}
                {...{ x, y: y + 3, width: wide, height: LANE_PX - 6, rx: 3 }}
              />
            );
          })}
          {[...marks.checkpoints].map(([lane, path]) => (
            <path key={lane} className="ticks" data-lane={lane % 6} d={path} />
          ))}
          <path className="model-ticks" d={marks.models} />
          {marks.crashes.map(({ x, lane }, index) => (
            <path key={index} className="crash" d={cross(x, laneTop(lane) + LANE_PX / 2)} />
          ))}
          {marks.inbox.map((x, index) => (
            <path key={index} className="inbox-mark" d={`M${x} ${TOP_PX - 7}l4 6h-8z`} />
          ))}
          {at === undefined ? null : (
            <line className="at" x1={scale.at(at.atMs)} x2={scale.at(at.atMs)} y1={0} y2={height} />
          )}
        </svg>
      </div>
    </div>
  );
});

const laneTop = (lane: number): number => TOP_PX + Math.max(0, Math.min(lane, LANES_SHOWN_COUNT - 1)) * LANE_PX;
const cross = (x: number, y: number): string => `M${x - 5} ${y - 5}l10 10M${x + 5} ${y - 5}l-10 10`;

function saying({ checkpointCount, holders, crashCount }: Timeline): string {
  const lost = crashCount === 0 ? '' : `, ${crashCount} of them lost`;
  return `${checkpointCount} checkpoints by ${holders.length} workers${lost}`;
}

/** At most one mark of a kind per pixel: more would not be visible. */
function marksOf(rows: readonly Entry[], scale: Scale) {
  const seen = new Set<number>();
  const checkpoints = new Map<number, string>();
  const crashes: { readonly x: number; readonly lane: number }[] = [];
  const inbox: number[] = [];
  let models = '';
  const isNew = (kind: number, lane: number, x: number): boolean => {
    const id = (kind * 64 + (lane & 63)) * 65_536 + x;
    return seen.size !== seen.add(id).size;
  };
  for (const row of rows) {
    const x = Math.round(scale.at(row.atMs));
    if (row.kind === 'checkpoint' && isNew(0, row.lane, x)) {
      checkpoints.set(row.lane, `${checkpoints.get(row.lane) ?? ''}M${x} ${laneTop(row.lane) + 6}v${LANE_PX - 12}`);
    } else if (row.kind === 'effect' && row.isModel && isNew(1, row.lane, x)) {
      const wide = Math.max(1.5, scale.at(row.endedAtMs ?? row.atMs) - x);
      models += `M${x} ${laneTop(row.lane) + LANE_PX - 5.5}h${wide.toFixed(1)}`;
    } else if (row.kind === 'note' && row.type === 'LeaseRevoked' && isNew(2, row.lane, x)) {
      crashes.push({ x, lane: row.lane });
    } else if (row.kind === 'note' && INBOX.has(row.type) && isNew(3, 0, x)) inbox.push(x);
  }
  return { checkpoints, models, crashes, inbox };
}

const INBOX: ReadonlySet<string> = new Set([
  'SignalReceived',
  'ApprovalDecided',
  'ApprovalGiven',
  'WorkflowParked',
  'CancelRequested',
]);

function nearest(rows: readonly Entry[], scale: Scale, x: number): number | undefined {
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, row] of rows.entries()) {
    const far = Math.abs(scale.at(row.atMs) - x);
    if (far < least) [best, least] = [index, far];
  }
  return best;
}

const Gaps = ({ scale, height }: { readonly scale: Scale; readonly height: number }) =>
  scale.stretches
    .filter(({ isGap }) => isGap)
    .map(({ fromMs, toMs, fromPx, toPx }) => (
      <g key={fromMs} className="gap">
        <title>{`No worker held it for ${duration(toMs - fromMs)}`}</title>
        <rect x={fromPx} y={TOP_PX} width={toPx - fromPx} height={height - TOP_PX} />
        {toMs - fromMs < GAP_REPORTED_MS ? null : (
          <text x={(fromPx + toPx) / 2} y={TOP_PX + (height - TOP_PX) / 2 + 4}>
            {duration(toMs - fromMs).split(' ')[0]}
          </text>
        )}
      </g>
    ));

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
  14_400_000, 86_400_000,
] as const;
/** Least room between two times, in pixels. */
const TICK_PX = 84;

/** Times since the opening, in the longest stretch that isn't squeezed; elsewhere there is no room for them. */
function Ticks({ scale, fromMs, height }: { readonly scale: Scale; readonly fromMs: number; readonly height: number }) {
  return scale.stretches
    .filter(({ isGap, fromPx, toPx }) => !isGap && toPx - fromPx > TICK_PX)
    .flatMap((stretch) => {
      const perMs = (stretch.toPx - stretch.fromPx) / (stretch.toMs - stretch.fromMs);
      const step = STEPS_MS.find((ms) => ms * perMs >= TICK_PX) ?? 86_400_000;
      const first = Math.ceil((stretch.fromMs - fromMs) / step) * step + fromMs;
      const count = Math.max(0, Math.floor((stretch.toMs - first) / step) + 1);
      return Array.from({ length: Math.min(count, 40) }, (_, index) => first + index * step);
    })
    .map((ms) => (
      <g key={ms} className="tick">
        <line x1={scale.at(ms)} x2={scale.at(ms)} y1={TOP_PX - 3} y2={height} />
        <text x={scale.at(ms) + 3} y={10}>
          {plain(ms === fromMs ? '0' : duration(ms - fromMs))}
        </text>
      </g>
    ));
}

function useWidth(box: React.RefObject<HTMLDivElement | null>): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watch.observe(current);
    return () => watch.disconnect();
  }, [box]);
  return width;
}
