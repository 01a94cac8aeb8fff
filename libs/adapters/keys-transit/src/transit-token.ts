/** Owns the token: a given one, or one in a file that another program keeps fresh (an agent, a sidecar). No error contains it. */

import { open } from 'node:fs/promises';
import { ConfigError, messageOf } from '@tidemark/core';

/** Largest file of a token, in bytes. */
const TOKEN_FILE_MAX_BYTES = 65_536;

/** Exactly one of `token` and `tokenFile`. */
export type TransitToken =
  | { readonly token: string; readonly tokenFile?: undefined }
  /** Holds the token alone; read again when the token is refused. */
  | { readonly tokenFile: string; readonly token?: undefined };

export class TokenSource {
  readonly #file: string | undefined;
  #token: string | undefined;

  constructor({ token, tokenFile }: TransitToken) {
    if ((token === undefined) === (tokenFile === undefined)) {
      throw new ConfigError('key-token-invalid', 'Give the transit engine either token or tokenFile, not both.');
    }
    this.#file = tokenFile;
    this.#token = token === undefined ? undefined : checked(token, 'The token');
  }

  async token(): Promise<string> {
    this.#token ??= await readToken(this.#file!);
    return this.#token;
  }

  /** Whether the file now has another token than the refused one. */
  async renewed(refused: string): Promise<boolean> {
    if (this.#file === undefined) return false;
    // Another request may have found the new one already.
    if (this.#token === refused) this.#token = await readToken(this.#file);
    return this.#token !== refused;
  }
}

async function readToken(file: string): Promise<string> {
  let text: string;
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      text = size > TOKEN_FILE_MAX_BYTES ? '' : await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    const why = messageOf(error);
    throw new ConfigError('key-token-invalid', `The token file ${file} can't be read: ${why}.`, { file, cause: error });
  }
  return checked(text.trim(), `The content of the token file ${file}`);
}

/** Refuses characters that a header can't hold, which the HTTP client's error would quote. */
function checked(token: string, what: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new ConfigError(
    'key-token-invalid',
    `${what} is not a token: it is empty, too long, or has characters that no token has.`,
  );
}
