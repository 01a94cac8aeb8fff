/** Owns the measure of a pattern's growth: processor time of this thread, of one search over a whole text, at growing sizes. */

import { leastCpuMs } from '@tidemark/testkit/cpu-time';

import { pumpsOf } from './pumps.ts';

/** At these sizes anything but a polynomial of the second degree shows at once: nothing larger is fed to what was slow here. */
const FIRST_CHARS = [24, 512];
const FIRST_MAX_MS = 15;
const SMALL_CHARS = 8_192;
/** Less than this, and no pattern of the second degree had the time. */
const SUSPECT_MS = 1;
/** More than this, and its growth shows at a quarter of the size, in a sixteenth of the time. */
const PLAIN_MS = 20;
const LARGE_MIN_MS = 10;
/** Four times the text takes a linear pattern four times as long, one of the second degree sixteen times. */
const GROWTH_MAX = 9;
/** Of twice the text: twice or four times. */
const DOUBLED_MAX = 3;

export interface Slow {
  readonly text: string;
  readonly growth: string;
}

/** What of the pattern's own texts it is not linear on; undefined: nothing. */
export function slowOn(source: string, flags: string): Slow | undefined {
  const search = searchWith(new RegExp(source, flags));
  for (const pump of pumpsOf(source, flags)) {
    // A busy machine can slow all rounds of one size: what a pattern is slow on shows again at once.
    const slow = growthOver(pump, search) && growthOver(pump, search);
    if (slow !== undefined) return { text: JSON.stringify(pump(40).slice(0, 80)), growth: slow };
  }
  return undefined;
}

function growthOver(pump: (chars: number) => string, search: (text: string) => void): string | undefined {
  for (const chars of FIRST_CHARS) {
    const ms = leastCpuMs(() => search(pump(chars)), FIRST_MAX_MS);
    if (ms > FIRST_MAX_MS) return `${ms.toFixed(0)} ms for ${chars} characters`;
  }
  const first = leastCpuMs(() => search(pump(SMALL_CHARS)), PLAIN_MS);
  if (first < SUSPECT_MS) return undefined;
  const chars = first > PLAIN_MS ? SMALL_CHARS / 4 : SMALL_CHARS;
  const text = pump(chars);
  const small = leastCpuMs(() => search(text));
  const longer = pump(4 * chars);
  const linear = Math.max(small * GROWTH_MAX, LARGE_MIN_MS);
  const large = leastCpuMs(() => search(longer), linear);
  if (large <= linear) return undefined;
  // What reads on as far as its own bound grows so too, up to there.
  const longest = pump(8 * chars);
  const doubled = large * DOUBLED_MAX;
  const largest = leastCpuMs(() => search(longest), doubled);
  if (largest <= doubled) return undefined;
  return `${[small, large, largest].map((ms) => ms.toFixed(0)).join(', ')} ms, of four times the text, and of twice that`;
}

const searchWith = (form: RegExp): ((text: string) => void) =>
  form.global ? (text) => Array.from(text.matchAll(form)) : (text) => form.exec(text);
