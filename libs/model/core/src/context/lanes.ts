/**
 * Owns how a budget is divided among lanes. Pure arithmetic over units (each is kept or trimmed as a whole); knows nothing of texts.
 * The units of a lane are in the order in which they are kept: the last one is trimmed first.
 *
 * With `room` tokens for all lanes, after `dealOut`:
 *  1. What is kept never exceeds `room`.
 *  2. Within a lane the kept units are the first ones, without gaps. A unit that alone exceeds the room is skipped and counts as no gap.
 *  3. Nothing is trimmed that would fit: the next unit of each lane is larger than the room that remains. So if everything fits, everything
 *     is kept.
 *  4. A lane gets at least its share: where it lost a unit, its kept units and that one together exceed the share.
 *  5. Lanes are trimmed in the trim order: a lane loses a unit only if it would not fit even with every earlier lane trimmed to its share.
 *  6. Each lane measures only the units that it keeps, and one more.
 */

export interface LaneUnits {
  /** Part of the room, 0..1. */
  readonly share: number;
  readonly count: number;
  /** Tokens of the unit at `index`, including its part of the lane's frame. Called at most once for each unit. */
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

  /** The lane's share, or everything it has where that is less. */
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

/** Chooses which units of each lane are kept. `lanes` are in the trim order: the first is trimmed first. `room` is at least 0. */
export function dealOut(lanes: readonly LaneUnits[], room: number): readonly LaneKept[] {
  const cursors = lanes.map((units) => new LaneCursor(units, room));
  const reserves = cursors.map((cursor) => cursor.reserve());
  let reserved = reserves.reduce((sum, tokens) => sum + tokens, 0);
  let used = 0;
  // The lane that is trimmed last takes first, up to what is reserved for the others.
  for (let at = cursors.length - 1; at >= 0; at--) {
    reserved -= reserves[at]!;
    cursors[at]!.fill(room - used - reserved);
    used += cursors[at]!.tokens;
  }
  // Where a lane could not take a whole unit, room remains for others.
  for (const cursor of cursors.toReversed()) {
    const before = cursor.tokens;
    cursor.fill(before + room - used);
    used += cursor.tokens - before;
  }
  return cursors;
}
