/**
 * Owns polling for a spot interruption notice: a file that becomes non-empty, or an address of the provider's metadata that begins to
 * answer. Must not end anything itself. A place that can't be read gives no notice, and is reported.
 */

import { readFile } from 'node:fs/promises';
import { UnavailableError } from '@tidemark/core';
import { systemClock } from '@tidemark/runtime';

/** Poll interval, and longest wait for an answer; milliseconds. The shortest notice of a provider is 25 s. */
const POLL_PERIOD_MS = 1_000;
const ANSWER_TIMEOUT_MS = 900;
/** Life of a token of Amazon's metadata service, in seconds. */
const TOKEN_TTL_S = 21_600;

export interface SpotNoticeOptions {
  /** `http://…`, `https://…`, or `file:///PATH`; empty: none is looked for. */
  readonly url: string;
  /** Called once, with where the notice was found. */
  readonly onNotice: (source: string) => void;
  readonly onError: (where: string, error: unknown) => void;
}

/** Polls at once and each second. Returns a function that stops it; it keeps no process alive. */
export function watchSpotNotice(options: SpotNoticeOptions): () => void {
  const { url, onNotice, onError } = options;
  if (url === '') return () => {};
  const pollOnce = looker(url);
  let isOver = false;
  const poll = async (): Promise<void> => {
    const source = await pollOnce();
    if (isOver || source === undefined) return;
    stop();
    onNotice(source);
  };
  const pollSafely = (): void => void poll().catch((error: unknown) => onError('spot notice', error));
  const timer = setInterval(pollSafely, POLL_PERIOD_MS).unref();
  const stop = (): void => {
    isOver = true;
    clearInterval(timer);
  };
  pollSafely();
  return stop;
}

/**
 * Resolves once there is no notice, usually at once. A process that left by a notice and is restarted on the same machine, as containers
 * are, waits here and takes no work: `onNotice` is called once. A place that can't be read counts as no notice at first, and later as the
 * previous notice.
 */
export async function noSpotNotice({ url, onNotice, onError }: SpotNoticeOptions): Promise<void> {
  if (url === '') return;
  const pollOnce = looker(url);
  let found: string | undefined;
  for (;;) {
    const source = await pollOnce().catch((error: unknown) => {
      onError('spot notice', error);
      return found;
    });
    if (source === undefined) return;
    if (found === undefined) onNotice(source);
    found = source;
    await systemClock.sleep(POLL_PERIOD_MS);
  }
}

/** A poll returns where a notice was found, and fails where the place can't be read. */
function looker(url: string): () => Promise<string | undefined> {
  const place = new URL(url);
  if (place.protocol === 'file:') return async () => ((await isFilled(place)) ? 'notice file' : undefined);
  const metadata = new Metadata(url);
  return async () => ((await metadata.isGiven()) ? 'notice address' : undefined);
}

async function isFilled(file: URL): Promise<boolean> {
  try {
    return (await readFile(file, 'utf8')).trim() !== '';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * A provider's metadata service. A notice is any answer of 200 with a body (Amazon: `/latest/meta-data/spot/instance-action`,
 * 404 before), except Google's `FALSE` (`/computeMetadata/v1/instance/preempted`). Version 2 of Amazon's service requires a token.
 */
class Metadata {
  readonly #url: string;
  #token: string | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async isGiven(): Promise<boolean> {
    let answer = await this.#get();
    if (answer.status === 401) {
      this.#token = await this.#newToken();
      answer = await this.#get();
    }
    if (answer.status === 404) return false;
    if (answer.status !== 200) {
      throw new UnavailableError('spot-notice', `The address of the spot notice answers with ${answer.status}.`);
    }
    const text = answer.text.trim();
    return text !== '' && text.toUpperCase() !== 'FALSE';
  }

  async #get(): Promise<{ readonly status: number; readonly text: string }> {
    const headers: Record<string, string> = { 'Metadata-Flavor': 'Google' };
    if (this.#token !== undefined) headers['X-aws-ec2-metadata-token'] = this.#token;
    return ask(this.#url, { headers });
  }

  async #newToken(): Promise<string> {
    const url = new URL('/latest/api/token', this.#url).href;
    const headers = { 'X-aws-ec2-metadata-token-ttl-seconds': String(TOKEN_TTL_S) };
    const { status, text } = await ask(url, { method: 'PUT', headers });
    if (status === 200) return text.trim();
    throw new UnavailableError('spot-notice', `The metadata service gives no token: ${status}.`);
  }
}

async function ask(url: string, init: RequestInit): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  return { status: answer.status, text: await answer.text() };
}
