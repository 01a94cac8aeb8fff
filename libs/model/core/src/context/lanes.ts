/**
 * Owns how a budget is dealt out among lanes. Pure arithmetic over units (what is kept or goes as a whole); knows nothing of texts.
 * A lane's units stand in the order in which they are kept: the last one goes first.
 *
 * With `room` tokens for all lanes, after `dealOut`:
 *  1. What is kept never exceeds `room`.
 *  2. Within a lane the kept units are the first ones, without gaps, but for units that are larger than the room by themselves:
 *     these are left out and stand in nobody's way.
 *  3. Nothing is trimmed that would fit: of each lane, the next unit is larger than what is left. So all is kept where all fits.
 *  4. A lane is guaranteed its share: of a lane that lost a unit, what is kept and that unit exceed the share.
 *  5. Lanes give in the trim order: a lane loses a unit only if it would not fit with all lanes that give earlier down to their share.
 *  6. Units are measured only as far as needed: what is dealt out, and one unit more of each lane.
 */

export interface LaneUnits {
  /** 0..1 of the room. */
  readonly share: number;
  readonly count: number;
  /** Tokens of the unit at `index`, its part of the lane's frame included. Called at most once for each. */
  measure(index: number): number;
}

export interface LaneKept {
  /** Indices of the kept units, ascending. */
  readonly kept: readonly number[];
  readonly tokens: number;
}

class LaneCursor {
  readonly #units: LaneUnits;
  readonly #room: number;
  readonly #costs: number[] = [];
  readonly kept: number[] = [];
  tokens = 0;
  #next = 0;

  constructor(units: LaneUnits, room: number) {
    this.#units = units;
    this.#room = room;
  }

  #cost(index: number): number {
    this.#costs[index] ??= this.#units.measure(index);
    return this.#costs[index];
  }

  /** The lane's share, or all that it has where that is less. */
  reserve(): number {
    const share = Math.floor(this.#units.share * this.#room);
    let total = 0;
    for (let index = 0; index < this.#units.count && total < share; index++) {
      const cost = this.#cost(index);
      if (cost <= this.#room) total += cost;
    }
    return Math.min(total, share);
  }

  /** Keeps further units while the lane stays within `limit` tokens. */
  fill(limit: number): void {
    while (this.#next < this.#units.count) {
      const cost = this.#cost(this.#next);
      if (cost <= this.#room) {
        if (this.tokens + cost > limit) return;
        this.tokens += cost;
        this.kept.push(this.#next);
      }
      this.#next++;
    }
  }
}

/** Which units of each lane are kept. `lanes` stand in the trim order: the first gives first. `room` is at least 0. */
export function dealOut(lanes: readonly LaneUnits[], room: number): readonly LaneKept[] {
  const cursors = lanes.map((units) => new LaneCursor(units, room));
  const reserves = cursors.map((cursor) => cursor.reserve());
  let reserved = reserves.reduce((sum, tokens) => sum + tokens, 0);
  let used = 0;
  // The lane that gives last takes first, all but what is reserved for the others.
  for (let at = cursors.length - 1; at >= 0; at--) {
    reserved -= reserves[at]!;
    cursors[at]!.fill(room - used - reserved);
    used += cursors[at]!.tokens;
  }
  // A unit that a lane could not take whole leaves room for others.
  for (const cursor of cursors.toReversed()) {
    const before = cursor.tokens;
    cursor.fill(before + room - used);
    used += cursor.tokens - before;
  }
  return cursors;
}
