/** Owns the check that a value survives JSON unchanged, and stays within the bounds of JSON. (Core owns the bounds, and canonical JSON.) */

import { InvalidError, type Json, LimitError, RETURNED_BOUNDS } from '@tidemark/core';

/**
 * The value as JSON. Omits undefined members, as JSON does. Throws `InvalidError` (`not-serialisable`) that names the place of a value that
 * JSON can't hold: a function, a bigint, a symbol, NaN, an infinity, a date, a map, a cycle; and `LimitError` (`json-too-many-values`,
 * `json-too-many-members`, `json-key-too-long`). `what` begins the message: "belief", "input of task price".
 */
export function toJson(value: unknown, what: string): Json {
  return new Check(what).value(value);
}

/** Characters of a place that a message shows. */
const PLACE_SHOWN_CHARS = 100;

class Check {
  readonly #what: string;
  /** The current place: names of members, and indices of elements. */
  readonly #place: (string | number)[] = [];
  #count = 0;

  constructor(what: string) {
    this.#what = what;
  }

  value(value: unknown): Json {
    if (++this.#count > RETURNED_BOUNDS.valuesMaxCount) {
      this.#exceed('json-too-many-values', `has more than ${RETURNED_BOUNDS.valuesMaxCount} values`);
    }
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number') return Number.isFinite(value) ? value : this.#refuse(String(value));
    if (typeof value !== 'object') return this.#refuse(value === undefined ? 'undefined' : `a ${typeof value}`);
    if (this.#place.length >= RETURNED_BOUNDS.depthMax) {
      return this.#refuse(`a cycle, or more than ${RETURNED_BOUNDS.depthMax} levels,`);
    }
    if (Array.isArray(value)) return this.#list(value);
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      return this.#refuse(`a ${value.constructor?.name ?? 'class instance'}`);
    }
    return this.#members(value as Record<string, unknown>);
  }

  /** Returns the same array when nothing in it changed, so that identity still shows what a step didn't touch. */
  #list(value: readonly unknown[]): Json {
    let copy: Json[] | undefined;
    for (let at = 0; at < value.length; at++) {
      const item = this.#at(at, value[at]);
      if (copy === undefined && item !== value[at]) copy = value.slice(0, at) as Json[];
      copy?.push(item);
    }
    return copy ?? (value as readonly Json[]);
  }

  #members(value: Record<string, unknown>): Json {
    let changed = false;
    const entries: [string, Json][] = [];
    const keys = Object.keys(value);
    if (keys.length > RETURNED_BOUNDS.membersMaxCount) {
      this.#exceed('json-too-many-members', `has more than ${RETURNED_BOUNDS.membersMaxCount} members`);
    }
    for (const key of keys) {
      const member = value[key];
      if (member === undefined) {
        changed = true;
        continue;
      }
      if (key.length > RETURNED_BOUNDS.keyMaxChars) {
        this.#exceed('json-key-too-long', `has a key longer than ${RETURNED_BOUNDS.keyMaxChars} characters`);
      }
      const item = this.#at(key, member);
      changed ||= item !== member;
      entries.push([key, item]);
    }
    return changed ? Object.fromEntries(entries) : (value as { readonly [key: string]: Json });
  }

  #at(step: string | number, value: unknown): Json {
    this.#place.push(step);
    const item = this.value(value);
    this.#place.pop();
    return item;
  }

  #path(): string {
    const steps = this.#place.map((step, at) =>
      typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`,
    );
    return steps.join('').slice(0, PLACE_SHOWN_CHARS);
  }

  #where(): string {
    const path = this.#path();
    return `${this.#what}${path === '' ? '' : ` at ${path}`}`;
  }

  #refuse(problem: string): never {
    throw new InvalidError(
      'not-serialisable',
      `${this.#where()}: ${problem} can't be stored as JSON. Return plain objects, arrays, strings, finite numbers, booleans or null.`,
      { what: this.#what, path: this.#path() },
    );
  }

  #exceed(code: string, problem: string): never {
    throw new LimitError(code, `${this.#where()} ${problem}. Store large values elsewhere and keep a reference.`, {
      what: this.#what,
      path: this.#path(),
    });
  }
}
