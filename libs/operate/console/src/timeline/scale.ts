/**
 * Owns where moments stand on the line: in proportion to time while somebody holds the workflow, and squeezed while nobody does, since an
 * agent that waits for days would leave no room for its work. Pure.
 *
 * S1. A later moment never stands before an earlier one.
 */

export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly fromPx: number;
  readonly toPx: number;
  /** Nobody held the workflow, and time is squeezed. */
  readonly isGap: boolean;
}

export interface Scale {
  readonly stretches: readonly Stretch[];
  /** In `[0, width]`. */
  readonly at: (ms: number) => number;
}

/** Width of a squeezed stretch, in pixels. */
const GAP_PX = 34;
/** A stretch below this share of the whole isn't worth squeezing. */
const GAP_SHARE_MIN = 0.04;

interface LeaseTime {
  readonly fromMs: number;
  readonly toMs: number | undefined;
}

/** `leases` ordered by their beginnings. */
export function scaleOf(leases: readonly LeaseTime[], [fromMs, toMs]: readonly [number, number], width: number): Scale {
  const span = Math.max(toMs - fromMs, 1);
  const gaps = gapsBetween(leases, fromMs, toMs).filter(([from, to]) => to - from > span * GAP_SHARE_MIN);
  const gapPx = Math.min(GAP_PX, width / (gaps.length * 2 + 1));
  const activeMs = span - gaps.reduce((sum, [from, to]) => sum + to - from, 0);
  const perMs = Math.max(width - gaps.length * gapPx, 0) / Math.max(activeMs, 1);
  const stretches: Stretch[] = [];
  let [ms, px] = [fromMs, 0];
  const add = (to: number, wide: number, isGap: boolean): void => {
    if (to <= ms) return;
    stretches.push({ fromMs: ms, toMs: to, fromPx: px, toPx: px + wide, isGap });
    ms = to;
    px += wide;
  };
  for (const [from, to] of gaps) {
    add(from, (from - ms) * perMs, false);
    add(to, gapPx, true);
  }
  add(Math.max(toMs, fromMs + 1), width - px, false);
  return { stretches, at: (of) => placeIn(stretches, of, width) };
}

function gapsBetween(leases: readonly LeaseTime[], fromMs: number, toMs: number): (readonly [number, number])[] {
  const gaps: (readonly [number, number])[] = [];
  let freeMs = fromMs;
  for (const lease of leases) {
    if (lease.fromMs > freeMs) gaps.push([freeMs, Math.min(lease.fromMs, toMs)]);
    freeMs = Math.max(freeMs, lease.toMs ?? toMs);
  }
  if (toMs > freeMs) gaps.push([freeMs, toMs]);
  return gaps;
}

function placeIn(stretches: readonly Stretch[], ms: number, width: number): number {
  const first = stretches[0];
  if (first === undefined || ms <= first.fromMs) return 0;
  let [low, high] = [0, stretches.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (stretches[middle]!.toMs < ms) low = middle + 1;
    else high = middle;
  }
  const { fromMs, toMs, fromPx, toPx } = stretches[low]!;
  if (ms >= toMs) return Math.min(toPx, width);
  return fromPx + ((ms - fromMs) / (toMs - fromMs)) * (toPx - fromPx);
}
