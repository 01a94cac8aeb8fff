/**
 * Owns plots of values over time as SVG text: lines, marks for what happened at a moment, a dashed line for a target. Readable on a light and
 * on a dark page. Must know nothing about what is plotted.
 */

import { escaped, linear, logarithmic, niceStep, short } from '../svg.ts';

export interface PlotSeries {
  readonly name: string;
  /** Minutes → value, ascending in time. */
  readonly points: readonly (readonly [number, number])[];
}

export interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly series: readonly PlotSeries[];
  /** Minutes at which something was done, by what it was. */
  readonly marks?: readonly { readonly name: string; readonly atMin: readonly number[] }[];
  readonly target?: number;
  /** Of values over several powers of ten. */
  readonly isLogarithmic?: boolean;
}

const [WIDTH, HEIGHT] = [860, 300];
const [LEFT, RIGHT, BOTTOM] = [64, 16, 34];
/** Where the legend's first line stands, how far apart its lines and its entries are, and how wide a letter is about. */
const [LEGEND_TOP, LEGEND_LINE, LEGEND_GAP, LETTER] = [38, 16, 16, 6.2];
const COLOURS = [
  '#2f6fde',
  '#d9622b',
  '#2a9d6f',
  '#a04ecb',
  '#b8860b',
  '#c2385b',
  '#5b7083',
  '#1799a8',
  '#7a8b2f',
] as const;
const MARK_COLOURS = ['#8a8a8a', '#b5a48a'] as const;

/** One plot as an SVG document. Series without points are left out. */
export function plotSvg({ title, unit, series, marks = [], target, isLogarithmic = false }: Plot): string {
  const drawn = series.filter(({ points }) => points.length > 0);
  const all = drawn.flatMap(({ points }) => points);
  const endMin = Math.max(...all.map(([minute]) => minute), 1e-9);
  const values = [...all.map(([, value]) => value), ...(target === undefined ? [] : [target])];
  const scale = isLogarithmic ? logarithmic(values) : linear(values);
  const { texts, lineCount } = legend(drawn, marks, target);
  const top = LEGEND_TOP + lineCount * LEGEND_LINE;
  const x = (minute: number): string => (LEFT + (minute / endMin) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (value: number): string => (HEIGHT - BOTTOM - scale.share(value) * (HEIGHT - top - BOTTOM)).toFixed(1);
  const lines = drawn.map(({ name, points }, at) => {
    const path = points.map(([minute, value], n) => `${n === 0 ? 'M' : 'L'}${x(minute)} ${y(value)}`).join('');
    return `<path d="${path}" fill="none" stroke="${colour(at)}" stroke-width="1.5"><title>${escaped(name)}</title></path>`;
  });
  const moments = marks.flatMap(({ name, atMin }, at) =>
    atMin.map(
      (minute) =>
        `<path d="M${x(minute)} ${top}V${HEIGHT - BOTTOM}" stroke="${MARK_COLOURS[at % MARK_COLOURS.length]}" stroke-width="0.7" stroke-dasharray="2 3" opacity="0.6"><title>${escaped(name)}</title></path>`,
    ),
  );
  const goal =
    target === undefined
      ? []
      : [`<path d="M${LEFT} ${y(target)}H${WIDTH - RIGHT}" stroke="#808080" stroke-dasharray="6 4"/>`];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="11" fill="#808080">`,
    `<text x="${LEFT}" y="18" font-size="14" font-weight="600">${escaped(title)} (${escaped(unit)})</text>`,
    ...texts,
    ...scale.ticks.map(
      (tick) =>
        `<path d="M${LEFT} ${y(tick)}H${WIDTH - RIGHT}" stroke="#808080" opacity="0.2"/><text x="${LEFT - 6}" y="${Number(y(tick)) + 4}" text-anchor="end">${short(tick)}</text>`,
    ),
    ...timeTicks(endMin).map(
      (minute) => `<text x="${x(minute)}" y="${HEIGHT - 12}" text-anchor="middle">${short(minute)} min</text>`,
    ),
    ...moments,
    ...goal,
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}

const colour = (at: number): string => COLOURS[at % COLOURS.length]!;

interface Legend {
  readonly texts: readonly string[];
  readonly lineCount: number;
}

/** In as many lines as it takes. */
function legend(series: readonly PlotSeries[], marks: NonNullable<Plot['marks']>, target?: number): Legend {
  const entries = [
    ...series.map(({ name }, at) => ({ name, fill: colour(at) })),
    ...marks.map(({ name }, at) => ({ name: `┊ ${name}`, fill: MARK_COLOURS[at % MARK_COLOURS.length]! })),
    ...(target === undefined ? [] : [{ name: `╌ target ${short(target)}`, fill: '#808080' }]),
  ];
  let left = LEFT;
  let line = 0;
  const texts = entries.map(({ name, fill }) => {
    const width = name.length * LETTER;
    if (left > LEFT && left + width > WIDTH - RIGHT) [left, line] = [LEFT, line + 1];
    const text = `<text x="${left.toFixed(1)}" y="${LEGEND_TOP + line * LEGEND_LINE}" fill="${fill}">${escaped(name)}</text>`;
    left += width + LEGEND_GAP;
    return text;
  });
  return { texts, lineCount: line + 1 };
}

function timeTicks(endMin: number): readonly number[] {
  const step = niceStep(endMin / 8);
  return Array.from({ length: Math.floor(endMin / step) + 1 }, (_, n) => n * step);
}
