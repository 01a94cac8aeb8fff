// Owns the estimate of how deeply a source text nests, made before the native parser sees it: that parser recurses on the
// machine's stack, and a file nested some 5,000 deep would end the process instead of raising an error.
// It is an estimate by a light scan (strings, templates, comments and regular expressions are skipped by the usual
// heuristic). A text built on purpose to mislead it can still end the process; the runtime then parks that one task.

import { MAX_CHAIN_TOKENS, MAX_NESTING_DEPTH } from '../limits.ts';

type Level = { opener: string; tokens: number };

/** Words after which a `/` begins a regular expression and a line break ends no statement. */
const OPERATOR_WORDS = new Set(
  'return typeof instanceof in of new delete void throw case do else await yield extends'.split(' '),
);
const WORD = /[\w$\u0080-\uffff]+/y;
const OPERATORS = '+-*/%&|^!~=<>?:@#';

/** Why the text is not safe to parse, or undefined. */
export function tooDeep(text: string): string | undefined {
  return new NestingScan(text).run();
}

class NestingScan {
  readonly #text: string;
  #at = 0;
  readonly #levels: Level[] = [{ opener: '', tokens: 0 }];
  /** The last thing seen was an operator or an opener, so an operand follows. */
  #expectOperand = true;
  #newline = false;
  /** A block just closed: what follows is a new statement, unless it goes on as `else` or as an operator. */
  #afterBlock = false;

  constructor(text: string) {
    this.#text = text;
  }

  run(): string | undefined {
    const text = this.#text;
    while (this.#at < text.length) {
      const char = text[this.#at]!;
      if (char === '\n') this.#newline = true;
      if (char <= ' ') this.#at++;
      else if (char === '"' || char === "'") this.#skipString(char);
      else if (char === '`') this.#skipTemplate(this.#at + 1);
      else if (char === '/' && this.#skipSlash()) continue;
      else if (char === '(' || char === '[' || char === '{') this.#open(char);
      else if (char === ')' || char === ']' || char === '}') this.#close(char);
      else if (char === ';' || char === ',') this.#separate();
      else if (OPERATORS.includes(char)) this.#operator();
      else this.#word();
      if (this.#levels.length > MAX_NESTING_DEPTH) return `nested deeper than ${MAX_NESTING_DEPTH} brackets`;
      if (this.#top().tokens > MAX_CHAIN_TOKENS) return `a statement of more than ${MAX_CHAIN_TOKENS} chained tokens`;
    }
    return undefined;
  }

  #top(): Level {
    return this.#levels[this.#levels.length - 1]!;
  }

  #open(opener: string): void {
    this.#top().tokens++; // `f()()()` and `T[][][]` are chains as well
    this.#levels.push({ opener, tokens: 0 });
    this.#at++;
    this.#expectOperand = true;
    this.#afterBlock = false;
  }

  #close(closer: string): void {
    this.#at++;
    const closed = this.#levels.length > 1 ? this.#levels.pop()! : undefined;
    this.#expectOperand = false;
    this.#afterBlock = closer === '}';
    // A template goes on after its `${…}`.
    if (closed?.opener === '${') this.#skipTemplate(this.#at);
  }

  #separate(): void {
    this.#top().tokens = 0;
    this.#at++;
    this.#expectOperand = true;
    this.#afterBlock = false;
  }

  #operator(): void {
    this.#top().tokens++;
    this.#at++;
    this.#expectOperand = true;
    this.#newline = false;
    this.#afterBlock = false;
  }

  #word(): void {
    WORD.lastIndex = this.#at;
    const word = WORD.exec(this.#text)?.[0] ?? this.#text[this.#at]!;
    const level = this.#top();
    const inBlock = level.opener === '' || level.opener === '{';
    const freshLine = this.#newline && !this.#expectOperand;
    const continues = word === 'else' || word === 'in' || word === 'instanceof';
    if (inBlock && !continues && (this.#afterBlock || freshLine)) level.tokens = 0;
    level.tokens++;
    this.#at += word.length;
    this.#expectOperand = OPERATOR_WORDS.has(word);
    this.#newline = false;
    this.#afterBlock = false;
  }

  #skipString(quote: string): void {
    let at = this.#at + 1;
    while (at < this.#text.length && this.#text[at] !== quote && this.#text[at] !== '\n') {
      at += this.#text[at] === '\\' ? 2 : 1;
    }
    this.#at = this.#text[at] === quote ? at + 1 : at;
    this.#expectOperand = false;
  }

  /** Skips template text from `from` to its end, or into the next `${`. */
  #skipTemplate(from: number): void {
    let at = from;
    while (at < this.#text.length && this.#text[at] !== '`') {
      if (this.#text[at] === '$' && this.#text[at + 1] === '{') {
        this.#at = at + 1;
        this.#open('${');
        return;
      }
      at += this.#text[at] === '\\' ? 2 : 1;
    }
    this.#at = at + 1;
    this.#expectOperand = false;
    this.#afterBlock = false;
  }

  /** Skips a comment or a regular expression; false when the slash divides. */
  #skipSlash(): boolean {
    const next = this.#text[this.#at + 1];
    if (next === '/' || next === '*') {
      const end = next === '/' ? this.#text.indexOf('\n', this.#at) : this.#text.indexOf('*/', this.#at + 2);
      this.#at = end < 0 ? this.#text.length : next === '/' ? end : end + 2;
      return true;
    }
    if (!this.#expectOperand) return false;
    let inClass = false;
    for (let at = this.#at + 1; at < this.#text.length && this.#text[at] !== '\n'; at++) {
      const char = this.#text[at];
      if (char === '\\') at++;
      else if (char === '[') inClass = true;
      else if (char === ']') inClass = false;
      else if (char === '/' && !inClass) {
        this.#at = at + 1;
        this.#expectOperand = false;
        return true;
      }
    }
    return false;
  }
}
