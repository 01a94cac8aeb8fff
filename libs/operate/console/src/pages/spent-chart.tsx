/** Owns the picture of what models cost, hour by hour of the last day. */

import { type SpendJson, sumOfSpent } from '@tidemark/core';
import { moneyOf, tokensOf } from '../text/format.ts';

interface Hour extends SpendJson {
  readonly hour: string;
}

const HOUR_MS = 3_600_000;
const HOURS = 24;
const [WIDE, HIGH] = [12, 44];

export function SpentChart({ hours }: { readonly hours: readonly Hour[] }) {
  const last = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const known = new Map(hours.map((hour) => [Date.parse(hour.hour), hour]));
  const bars = Array.from({ length: HOURS }, (_, at) => known.get(last - (HOURS - 1 - at) * HOUR_MS));
  const most = Math.max(...bars.map((bar) => bar?.cost_micros ?? 0), 1);
  return (
    <svg
      className="spent"
      viewBox={`0 0 ${HOURS * WIDE} ${HIGH + 12}`}
      role="img"
      aria-label={`${moneyOf(sumOfSpent(hours))} in the last day, by the hour`}
    >
      {bars.map((bar, at) => {
        const high = ((bar?.cost_micros ?? 0) / most) * HIGH;
        const hour = new Date(last - (HOURS - 1 - at) * HOUR_MS);
        return (
          <g key={at}>
            <title>{`${String(hour.getHours()).padStart(2, '0')}:00  ${bar === undefined ? 'nothing' : `${moneyOf(bar)}, ${tokensOf(bar)} tokens`}`}</title>
            <rect className="ground" x={at * WIDE + 1.5} y={0} width={WIDE - 3} height={HIGH} rx={1.5} />
            <rect
              className="bar"
              x={at * WIDE + 1.5}
              y={HIGH - Math.max(high, bar === undefined ? 0 : 1.5)}
              width={WIDE - 3}
              height={Math.max(high, bar === undefined ? 0 : 1.5)}
              rx={1.5}
            />
            {at % 6 === 5 ? (
              <text x={at * WIDE + WIDE / 2} y={HIGH + 10}>
                {String(hour.getHours()).padStart(2, '0')}
              </text>
            ) : null}
          </g>
        );
      })}
    </svg>
  );
}
