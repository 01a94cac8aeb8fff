/**
 * Owns the policy on secrets in what workflows store. Secrets are recognized by their forms (@tidemark/secrets), and one policy reports,
 * masks or refuses them. What merely looks random is counted and stored, because ids look random too. Fields that schemas mark as secret
 * are already sealed and exempt. It must never keep, report or throw a secret that it found, only its place and kind.
 */

import { sealedSecret } from '@tidemark/codec';
import { InvalidError } from '@tidemark/core';
import type { Telemetry } from '@tidemark/ports';
import { type FoundSecret, findSecrets, isGuess, isUnsearched, maskedValue, secretPlaces } from '@tidemark/secrets';
import { textOf } from './storable-text.ts';

/** Causes of an error that are followed; real chains are shorter. */
const ERROR_CAUSES_MAX_COUNT = 8;

/**
 * `report`: the secret is stored as it is, counted and reported. `mask`: `[masked KIND]` is stored in its place. `refuse`: the whole value
 * is not stored.
 */
export type OnSecret = 'report' | 'mask' | 'refuse';

/** What the text is for the workflow that stores it. */
export type SecretPlace =
  | ('input' | 'belief' | 'task' | 'output' | 'request' | 'response' | 'closure')
  | ('prompt' | 'answer' | 'fragment' | 'memory' | 'note' | 'approval' | 'error' | 'signal' | 'decision' | 'name');

/** A secret that is in the log now. */
export interface StoredSecret {
  readonly definition: string;
  readonly where: SecretPlace;
  /** `input`, `output of step draft`, `request of pay`. */
  readonly field: string;
  /** JSON pointer within it. */
  readonly place: string;
  readonly kind: string;
}

export interface SecretPolicy {
  /** For definitions that do not choose one. */
  readonly onSecret: OnSecret;
  /** Receives each secret that was found under `report`: all of what callers sent, a sample of what workers committed. */
  readonly onStored?: ((secret: StoredSecret) => void) | undefined;
}

/** What a process needs to search for secrets. */
export interface SecretPorts {
  readonly telemetry: Pick<Telemetry, 'count'>;
  /** Absent: `report`, and only the metric counts what is found in what callers send. */
  readonly secretPolicy?: SecretPolicy | undefined;
}

const STRICTEST = ['refuse', 'mask', 'report'] as const;

/** What counts for a definition. */
export const onSecretOf = ({ onSecret }: { readonly onSecret?: OnSecret | undefined }, ports: SecretPorts): OnSecret =>
  onSecret ?? ports.secretPolicy?.onSecret ?? 'report';

/** The strictest policy among the known versions of the definition; the deployment's where none is known. */
export const guardOf = (
  definition: string,
  known: readonly { readonly onSecret?: OnSecret | undefined }[],
  ports: SecretPorts,
): SecretGuard => {
  const said = (known.length === 0 ? [{}] : known).map((each) => onSecretOf(each, ports));
  return new SecretGuard(definition, STRICTEST.find((each) => said.includes(each))!, ports);
};

let pass: <T>(value: T) => Guarded<T>;

/**
 * What a caller sent, after the policy. Only a guard makes one, and all that takes content of callers to the log (`WorkflowInbox`, `Starter`)
 * takes nothing else: an operation that forgets the guard doesn't compile.
 */
export class Guarded<T> {
  readonly #value: T;

  static {
    pass = (value) => new Guarded(value);
  }

  private constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  /** The same content in another shape. It must add nothing that a caller sent. */
  as<U>(shape: (value: T) => U): Guarded<U> {
    return pass(shape(this.#value));
  }
}

/**
 * What no caller wrote. Each use says whose it is, so that nobody takes it for the way past the guard: `system` is what the code itself made,
 * `stored` is what the log has already.
 */
export const ownContent = <T>(_whose: 'system' | 'stored', value: T): Guarded<T> => pass(value);

export class SecretGuard {
  readonly #definition: string;
  readonly #onSecret: OnSecret;
  readonly #ports: SecretPorts;

  constructor(definition: string, onSecret: OnSecret, ports: SecretPorts) {
    this.#definition = definition;
    this.#onSecret = onSecret;
    this.#ports = ports;
  }

  /** The value to store. Throws `InvalidError` (`secret-found`) when the policy refuses it, or when it is too large to be searched. */
  take<T>(where: SecretPlace, field: string, value: T): T {
    const { value: taken, problem } = this.answered(where, field, value);
    if (problem !== undefined) throw problem;
    return taken;
  }

  /** The same for what a caller sent. */
  content<T>(where: SecretPlace, field: string, value: T): Guarded<T> {
    return pass(this.take(where, field, value));
  }

  /**
   * Names and keys that a caller chose. They identify something, so a mark in their place would make two of them one: `mask` refuses them
   * as well.
   */
  names<T>(field: string, value: T): Guarded<T> {
    const found = this.#found('name', field, value);
    if (found.length === 0 || this.#onSecret === 'report') return pass(value);
    throw new InvalidError(
      'secret-found',
      `${field} holds what looks like a secret, and a name is never stored sealed or masked: ${secretPlaces(found)}. Choose another name.`,
      { field, found },
    );
  }

  /**
   * The same for a value that cannot be refused because it was paid for or has happened: it is masked where it would be refused. `problem`
   * is then the error that the caller must not ignore. A value that cannot be searched is masked as a whole.
   */
  answered<T>(where: SecretPlace, field: string, value: T): { readonly value: T; readonly problem?: InvalidError } {
    const found = this.#found(where, field, value);
    if (found.length === 0 || this.#onSecret === 'report') return { value };
    const unsearched = found.find(isUnsearched);
    const masked = unsearched === undefined ? maskedValue(value, MASKING) : `[masked ${unsearched.kind}]`;
    if (this.#onSecret === 'mask' && unsearched === undefined) return { value: masked as T };
    return { value: masked as T, problem: secretFound(field, found) };
  }

  /**
   * What is recorded of a thrown value and its causes. It cannot be refused, so it is masked where it would be. An error stays the same
   * object unless it is frozen; any other value that contains a secret becomes a masked text.
   */
  error(field: string, thrown: unknown, depth = 0): unknown {
    const taken = <T>(value: T): T => this.answered('error', field, value).value;
    if (!(thrown instanceof Error)) {
      const text = textOf(thrown);
      const stored = taken(text);
      return stored === text ? thrown : stored;
    }
    const changes: Record<string, unknown> = {};
    for (const name of RECORDED_OF_ERRORS) {
      const said = (thrown as { readonly [member in typeof name]?: unknown })[name];
      const given = name === 'evidence' ? said : textOf(said ?? '');
      const stored = taken(given);
      if (stored !== given) changes[name] = stored;
    }
    const { cause } = thrown;
    const masked = depth < ERROR_CAUSES_MAX_COUNT && cause !== undefined ? this.error(field, cause, depth + 1) : cause;
    if (masked !== cause) changes.cause = masked;
    return rewritten(thrown, changes);
  }

  #found(where: SecretPlace, field: string, value: unknown): readonly FoundSecret[] {
    const certain = foundIn(value, where, this.#ports);
    if (this.#onSecret === 'report') reportStored(certain, { definition: this.#definition, where, field }, this.#ports);
    return certain;
  }
}

/** What the value holds beside guesses; all of it is counted. */
function foundIn(value: unknown, place: SecretPlace, { telemetry }: SecretPorts): readonly FoundSecret[] {
  const found = findSecrets(value, isSealed);
  for (const { kind } of found) telemetry.count('secrets_found_total', 1, { place, kind });
  return found.filter(({ kind }) => !isGuess(kind));
}

type StoredAt = Pick<StoredSecret, 'definition' | 'where' | 'field'>;

function reportStored(found: readonly FoundSecret[], at: StoredAt, { secretPolicy }: SecretPorts): void {
  for (const each of found) secretPolicy?.onStored?.({ ...at, ...each });
}

/** Searches what the log already has, and reports it. */
export const reportSecrets = (value: unknown, at: StoredAt, ports: SecretPorts): void =>
  reportStored(foundIn(value, at.where, ports), at, ports);

const isSealed = (text: string): boolean => sealedSecret(text) !== undefined;

const MASKING = { isExempt: isSealed, isMasked: (kind: string) => !isGuess(kind) };

/** The fields of an error that reach the log or a person: its note, its code in the header, and its evidence. */
const RECORDED_OF_ERRORS = ['message', 'stack', 'name', 'code', 'evidence'] as const;

function rewritten(error: Error, changes: Readonly<Record<string, unknown>>): Error {
  const names = Object.keys(changes);
  if (names.length === 0) return error;
  const own = { configurable: true, writable: true, enumerable: false };
  const members = Object.fromEntries(names.map((name) => [name, { ...own, value: changes[name] }]));
  try {
    return Object.defineProperties(error, members);
  } catch {
    return Object.create(error, members) as Error;
  }
}

const secretFound = (field: string, found: readonly FoundSecret[]): InvalidError =>
  new InvalidError(
    'secret-found',
    `${field} holds what looks like a secret, which is not stored: ${secretPlaces(found)}. Leave it out and let the effect that needs it read it from its environment, or mark the field with secret().`,
    { field, found },
  );
