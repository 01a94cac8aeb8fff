/**
 * Owns plots of values over time as SVG text: lines, marks for what happened at a moment, a dashed line for a target. Readable on a light and
 * on a dark page. Must know nothing about what is plotted.
 */

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
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 16, 54, 34];
const COLOURS = ['#2f6fde', '#d9622b', '#2a9d6f', '#a04ecb', '#b8860b', '#c2385b', '#5b7083', '#1799a8'] as const;
const MARK_COLOURS = ['#c2385b', '#b8860b'] as const;
const TICKS = 5;

/** One plot as an SVG document. Series without points are left out. */
export function plotSvg({ title, unit, series, marks = [], target, isLogarithmic = false }: Plot): string {
  const drawn = series.filter(({ points }) => points.length > 0);
  const all = drawn.flatMap(({ points }) => points);
  const endMin = Math.max(...all.map(([minute]) => minute), 1e-9);
  const values = [...all.map(([, value]) => value), ...(target === undefined ? [] : [target])];
  const scale = isLogarithmic ? logarithmic(values) : linear(values);
  const x = (minute: number): string => (LEFT + (minute / endMin) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (value: number): string => (HEIGHT - BOTTOM - scale.share(value) * (HEIGHT - TOP - BOTTOM)).toFixed(1);
  const lines = drawn.map(({ name, points }, at) => {
    const path = points.map(([minute, value], n) => `${n === 0 ? 'M' : 'L'}${x(minute)} ${y(value)}`).join('');
    return `<path d="${path}" fill="none" stroke="${colour(at)}" stroke-width="1.5"><title>${escaped(name)}</title></path>`;
  });
  const moments = marks.flatMap(({ name, atMin }, at) =>
    atMin.map(
      (minute) =>
        `<path d="M${x(minute)} ${TOP}V${HEIGHT - BOTTOM}" stroke="${MARK_COLOURS[at % MARK_COLOURS.length]}" stroke-width="0.7" stroke-dasharray="2 3" opacity="0.6"><title>${escaped(name)}</title></path>`,
    ),
  );
  const goal =
    target === undefined
      ? []
      : [`<path d="M${LEFT} ${y(target)}H${WIDTH - RIGHT}" stroke="#808080" stroke-dasharray="6 4"/>`];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="11" fill="#808080">`,
    `<text x="${LEFT}" y="18" font-size="14" font-weight="600">${escaped(title)} (${escaped(unit)})</text>`,
    ...legend(drawn, marks, target),
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

function legend(series: readonly PlotSeries[], marks: NonNullable<Plot['marks']>, target?: number): readonly string[] {
  const entries = [
    ...series.map(({ name }, at) => ({ name, fill: colour(at) })),
    ...marks.map(({ name }, at) => ({ name: `┊ ${name}`, fill: MARK_COLOURS[at % MARK_COLOURS.length]! })),
    ...(target === undefined ? [] : [{ name: `╌ target ${short(target)}`, fill: '#808080' }]),
  ];
  let left = LEFT;
  return entries.map(({ name, fill }) => {
    const text = `<text x="${left}" y="38" fill="${fill}">${escaped(name)}</text>`;
    left += name.length * 6.2 + 16;
    return text;
  });
}

interface Scale {
  /** 0 at the bottom, 1 at the top. */
  readonly share: (value: number) => number;
  readonly ticks: readonly number[];
}

function linear(values: readonly number[]): Scale {
  const step = niceStep(Math.max(...values, 1e-9) / TICKS);
  const top = Math.ceil(Math.max(...values, 1e-9) / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, n) => n * step);
  return { share: (value) => value / top, ticks };
}

function logarithmic(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const from = Math.floor(Math.log10(Math.min(...positive, 1)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...positive, 1))));
  const ticks = Array.from({ length: to - from + 1 }, (_, n) => 10 ** (from + n));
  return { share: (value) => (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from), ticks };
}

/** 1, 2 or 5 times a power of ten, no less than the value. */
function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (value / power <= 1 ? 1 : value / power <= 2 ? 2 : value / power <= 5 ? 5 : 10);
}

function timeTicks(endMin: number): readonly number[] {
  const step = niceStep(endMin / 8);
  return Array.from({ length: Math.floor(endMin / step) + 1 }, (_, n) => n * step);
}

const short = (value: number): string =>
  value >= 1_000 ? `${Number((value / 1_000).toPrecision(3))}k` : String(Number(value.toPrecision(3)));

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
