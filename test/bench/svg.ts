/** Owns what the benches' pictures share: scales from values to places, numbers and text as SVG has them. */

const TICKS = 5;

export interface Scale {
  /** 0 at the bottom, 1 at the top. */
  readonly share: (value: number) => number;
  readonly ticks: readonly number[];
}

/** From zero; the top is a round number no less than the largest value. */
export function linear(values: readonly number[]): Scale {
  const step = niceStep(Math.max(...values, 1e-9) / TICKS);
  const top = Math.ceil(Math.max(...values, 1e-9) / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, n) => n * step);
  return { share: (value) => value / top, ticks };
}

/** By powers of ten, from the one below the least value, or from 1. */
export function logarithmic(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const from = Math.floor(Math.log10(Math.min(...positive, 1)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...positive, 1))));
  const ticks = Array.from({ length: to - from + 1 }, (_, n) => 10 ** (from + n));
  return { share: (value) => (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from), ticks };
}

/** 1, 2 or 5 times a power of ten, no less than the value. */
export function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (value / power <= 1 ? 1 : value / power <= 2 ? 2 : value / power <= 5 ? 5 : 10);
}

export const short = (value: number): string =>
  value >= 1_000 ? `${Number((value / 1_000).toPrecision(3))}k` : String(Number(value.toPrecision(3)));

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
