/**
 * Owns what makes a pattern slow, if anything does: for each of its repetitions the text that leads there, followed by what is repeated,
 * over and over, and an end that fits nothing. It reads a pattern's own syntax for that, and knows nothing of how it is matched.
 */

/** A text of about so many characters. */
export type Pump = (chars: number) => string;

/** From this many repetitions on it is of interest: below, a window is small. */
const REPEATED_MIN_COUNT = 100;
/** Matching texts of a part that are tried. */
const SAMPLES_MAX_COUNT = 12;
const CHARACTERS = [...'aA0 -_./:=@!,;#*+()[]{}<>"\'`\\|~^$&%?xzS\n\t→é\u0001'];
const ENDS = ['', '\u0001', '\n!'];

export function pumpsOf(source: string, flags: string): readonly Pump[] {
  if (!/[*+]|,\}|\d{3,}\}/.test(source)) return [];
  const reader = new PatternReader(source, flags);
  const whole = reader.alternatives('');
  const pumps = new Map<string, Pump>();
  const add = (before: string, unit: string): void => {
    if (unit === '') return;
    for (const end of ENDS) {
      pumps.set(JSON.stringify([before, unit, end]), (chars) =>
        [before, unit.repeat(Math.ceil(chars / unit.length)), end].join(''),
      );
    }
  };
  for (const { before, units } of reader.loops) {
    add('', before);
    for (const unit of units) {
      add(before, unit);
      if (before !== '') add('', before + unit);
    }
  }
  if (reader.loops.length > 0) for (const sample of whole) add('', sample);
  return [...pumps.values()];
}

interface Loop {
  /** Leads there. */
  readonly before: string;
  /** What is repeated: some of what may be. */
  readonly units: readonly string[];
}

class PatternReader {
  readonly loops: Loop[] = [];
  readonly #source: string;
  readonly #flags: string;
  readonly #groups: (readonly string[])[] = [];
  #at = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#flags = flags.replaceAll(/[gydm]/g, '');
  }

  /** Texts that fit what stands from here to the end of the group. */
  alternatives(before: string): readonly string[] {
    const samples = [...this.#sequence(before)];
    while (this.#take('|')) samples.push(...this.#sequence(before));
    return [...new Set(samples)];
  }

  #sequence(before: string): readonly string[] {
    let samples: readonly string[] = [''];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at]!)) {
      const lead = before + samples[0]!;
      const units = this.#atom(lead);
      const [min, max] = this.#quantifier();
      if (max >= REPEATED_MIN_COUNT) this.loops.push({ before: lead, units });
      const count = Math.max(samples.length, units.length);
      samples = Array.from({ length: Math.min(count, SAMPLES_MAX_COUNT) }, (_, at) =>
        [samples[at % samples.length], (units[at % units.length] ?? '').repeat(Math.min(min, 300))].join(''),
      );
    }
    return samples;
  }

  #atom(before: string): readonly string[] {
    const character = this.#source[this.#at]!;
    if (character === '(') return this.#group(before);
    if (character === '[') return this.#class();
    this.#at += 1;
    if (character === '\\') return this.#escape();
    if (character === '^' || character === '$') return [''];
    if (character === '.') return this.#fitting('.');
    return [character];
  }

  #group(before: string): readonly string[] {
    const [head] = /^\((?:\?(?:<?[=!]|:|<\w+>|[a-z]*(?:-[a-z]+)?:))?/.exec(this.#source.slice(this.#at))!;
    this.#at += head.length;
    const at = head === '(' || head.startsWith('(?<') ? this.#groups.push([]) - 1 : undefined;
    const samples = this.alternatives(before);
    this.#at += 1;
    this.loops.push({ before, units: samples });
    if (/[=!]$/.test(head)) return [''];
    if (at !== undefined) this.#groups[at] = samples;
    return samples;
  }

  #class(): readonly string[] {
    const start = this.#at;
    for (this.#at += 1; this.#source[this.#at] !== ']'; this.#at += 1)
      if (this.#source[this.#at] === '\\') this.#at += 1;
    this.#at += 1;
    return this.#fitting(this.#source.slice(start, this.#at));
  }

  /** After the backslash. */
  #escape(): readonly string[] {
    const [escaped] = /^(?:u\{\w+\}|u\w{4}|x\w\w|c\w|[pP]\{[\w=]+\}|k<\w+>|[1-9]|.)/s.exec(
      this.#source.slice(this.#at),
    )!;
    this.#at += escaped.length;
    if (/^[bB]$/.test(escaped)) return [''];
    if (/^[1-9]$/.test(escaped)) return this.#groups[Number(escaped) - 1] ?? [''];
    if (/^[dDwWsSpP]/.test(escaped)) return this.#fitting(`\\${escaped}`);
    return this.#fitting(`\\${escaped}`, (text) => [...CHARACTERS, ...characters(text)]);
  }

  #fitting(part: string, candidates = (_: string): readonly string[] => CHARACTERS): readonly string[] {
    const form = new RegExp(`^(?:${part})$`, this.#flags);
    // What ends one part of a pattern is what another may take as well: its own punctuation comes first.
    const own = [...this.#source.matchAll(/\\(\W)|([^\\()[\]{}?*+|^$.\w])/g)].map(
      ([, escaped, plain]) => escaped ?? plain!,
    );
    const fitting = [' ', 'a', ...own, ...candidates(part)].filter((each) => form.test(each));
    if (fitting.length > 0) return [...new Set(fitting)].slice(0, SAMPLES_MAX_COUNT);
    for (let code = 0; code < 0x3000; code += 1)
      if (form.test(String.fromCharCode(code))) return [String.fromCharCode(code)];
    return [''];
  }

  #quantifier(): readonly [min: number, max: number] {
    const [text, min, comma, max] = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})?\??/.exec(this.#source.slice(this.#at))!;
    if (text === '') return [1, 1];
    this.#at += text.length;
    if (text[0] === '*') return [0, Number.POSITIVE_INFINITY];
    if (text[0] === '+') return [1, Number.POSITIVE_INFINITY];
    if (text[0] === '?') return [0, 1];
    if (comma === '') return [Number(min), Number(min)];
    return [Number(min), max === '' ? Number.POSITIVE_INFINITY : Number(max)];
  }

  #take(character: string): boolean {
    if (this.#source[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }
}

/** Of `\uXXXX` and its like. */
const characters = (escaped: string): readonly string[] => {
  const code = /^\\(?:u\{?|x)(\w+)\}?$/.exec(escaped)?.[1];
  return code === undefined ? [escaped.slice(1)] : [String.fromCodePoint(Number.parseInt(code, 16))];
};
