/**
 * Owns the keys of one workflow's secret fields, and what a parser does with them: stored values are opened, each only at its own place,
 * and results are sealed for the place where they stand. It does not know which fields are secret: parsers do.
 *
 * S4 A sealed text opens only where it was sealed: for the same purpose, at the same path. Anywhere else it is refused.
 */

import { type KeyObject, randomUUID } from 'node:crypto';
import {
  mapSecrets,
  mapTexts,
  NAME_MAX_CHARS,
  openSecret,
  SECRET_MASK,
  type SealingKey,
  type SecretPath,
  sealedSecret,
  sealSecret,
  secretPlace,
} from '@tidemark/codec';
import { CorruptError, InvalidError, type Json } from '@tidemark/core';
import type { RecordOwner } from '@tidemark/ports';
import type { Parse } from '../definition/index.ts';

const secretMasked = (): InvalidError =>
  new InvalidError(
    'secret-masked',
    `A secret field was given '${SECRET_MASK}', which is what is shown in its place. Give its value.`,
  );

const keyMissing = (key: string): CorruptError =>
  new CorruptError(
    'key-missing',
    `A secret field is sealed with key ${key}, which is none of its workflow's: the key is lost, or the text is another workflow's. Nothing was done with it. Restore the key store from a copy.`,
    { key },
  );

const misplaced = (purpose: string, path: SecretPath): InvalidError =>
  new InvalidError(
    'secret-misplaced',
    `${purpose}: ${shown(path) || 'its root'} holds the text of a sealed secret field that belongs elsewhere, which is not opened there. Give the value itself.`,
    { purpose, place: shown(path) },
  );

const shown = (path: SecretPath): string =>
  path
    .map((part) => `/${part}`)
    .join('')
    .slice(0, NAME_MAX_CHARS);

/** What a value is for, as part of what a sealed text is bound to. It includes names of steps and operations. */
export type Purpose = 'input' | 'belief' | 'output' | `${'task' | 'step output' | 'request' | 'response'} ${string}`;

/** Stands for a secret value while a parser works; it is unguessable. */
const HELD = `held:${randomUUID()}:`;

export class Vault {
  readonly #workflow: string;
  readonly #own: SealingKey;
  readonly #keys: ReadonlyMap<string, KeyObject>;

  constructor(
    { tenant, workflow }: Pick<RecordOwner, 'tenant' | 'workflow'>,
    keys: readonly [SealingKey, ...SealingKey[]],
  ) {
    this.#workflow = JSON.stringify([tenant, workflow]);
    this.#own = keys[0];
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  /** Opens a value that was stored for this purpose; `opened` receives each secret field. */
  readonly open = (value: Json, purpose: Purpose, opened?: Opened, from: SecretPath = []): Json =>
    mapSecrets(
      value,
      (text, { key, place }, path) => {
        if (place !== secretPlace(purpose, path)) return text;
        const plain = this.#plain(text, key);
        if (plain === undefined) return text;
        opened?.({ plain, path: [...path] });
        // A value that is secret as a whole may have secret fields inside.
        return this.open(plain, purpose, opened, [...path]);
      },
      from,
    );

  /** The same, with each text opened whatever its place: for readers who may see all of them. */
  readonly reveal = (value: Json): Json =>
    mapSecrets(value, (text, { key }) => {
      const plain = this.#plain(text, key);
      return plain === undefined ? text : this.reveal(plain);
    });

  #plain(text: string, id: string): Json | undefined {
    const key = this.#keys.get(id);
    return key === undefined ? undefined : openSecret(text, this.#workflow, key);
  }

  /**
   * Returns the parser with its result sealed for this purpose. It also accepts stored values, whose fields are already sealed. The parser
   * throws `InvalidError` (`secret-masked`: the mask was given as a value; `secret-misplaced`: a text was sealed for another place (S4)),
   * `CorruptError` (`key-missing`: a secret could not be opened).
   */
  readonly sealing =
    (parse: Parse, purpose: Purpose): Parse =>
    (value) => {
      const opened = this.open(value as Json, purpose);
      const held: Json[] = [];
      const parsed = parse(opened, (plain) => {
        if (plain === SECRET_MASK) throw secretMasked();
        held.push(plain);
        return `${HELD}${held.length - 1}`;
      });
      return this.#placed(parsed, purpose, held, []);
    };

  #placed(value: Json, purpose: Purpose, held: readonly Json[], from: SecretPath): Json {
    return mapTexts(
      value,
      (text, path) => {
        if (!text.startsWith(HELD)) return this.#checked(text, purpose, path);
        const plain = held[Number(text.slice(HELD.length))]!;
        this.#refuseSealed(plain, purpose, path);
        const at = [...path];
        return sealSecret(this.#placed(plain, purpose, held, at), this.#workflow, secretPlace(purpose, at), this.#own);
      },
      from,
    );
  }

  /** S4; a text of another workflow is plain data. */
  #checked(text: string, purpose: Purpose, path: SecretPath): string {
    const sealed = sealedSecret(text);
    if (sealed !== undefined && this.#keys.has(sealed.key)) throw misplaced(purpose, path);
    return text;
  }

  #refuseSealed(plain: Json, purpose: Purpose, path: SecretPath): void {
    const sealed = typeof plain === 'string' ? sealedSecret(plain) : undefined;
    if (sealed === undefined) return;
    throw this.#keys.has(sealed.key) ? misplaced(purpose, path) : keyMissing(sealed.key);
  }
}

type Opened = (secret: { readonly plain: Json; readonly path: SecretPath }) => void;
