/**
 * Owns which definitions a coordinator knows: those that workers have registered, and those whose modules it loads itself, which win. It
 * reads what is registered every few seconds, and when a caller names one that it doesn't know.
 */

import type { DefinitionSource } from '@tidemark/api';
import type { Host } from '@tidemark/host';
import { type Definition, type Loop, startLoop } from '@tidemark/runtime';
import { registeredDefinition } from '@tidemark/sdk/registered';

const READ_PERIOD_MS = 5_000;
/** Callers who name what isn't there share a read of this age, in milliseconds. */
const READ_FRESH_MS = 500;

export class RegisteredDefinitions implements DefinitionSource {
  readonly #host: Pick<Host, 'client' | 'ports'>;
  readonly #loaded: readonly Definition[];
  readonly #onError: (where: string, error: unknown) => void;
  readonly #loop: Loop;
  all: readonly Definition[];
  /** What was registered when it was last read, made into definitions, by what is said of each. */
  #made = new Map<string, Definition | undefined>();
  #reading: Promise<readonly Definition[]> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    host: Pick<Host, 'client' | 'ports'>,
    loaded: readonly Definition[],
    onError: (where: string, error: unknown) => void,
  ) {
    this.#host = host;
    this.#loaded = loaded;
    this.#onError = onError;
    this.all = loaded;
    const { clock } = host.ports;
    const options = { clock, periodMs: READ_PERIOD_MS, onError: (error: unknown) => onError('definitions', error) };
    this.#loop = startLoop(async () => void (await this.#read()), options);
  }

  close(): Promise<void> {
    return this.#loop.stop();
  }

  /** Throws `UnavailableError`. */
  async read(): Promise<readonly Definition[]> {
    const { clock } = this.#host.ports;
    if (clock.monotonicMs() - this.#readAtMs < READ_FRESH_MS) return this.all;
    return this.#read();
  }

  /** One at a time. */
  #read(): Promise<readonly Definition[]> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<readonly Definition[]> {
    const registered = await this.#host.client.registrations.list();
    const made = new Map<string, Definition | undefined>();
    for (const each of registered) {
      const text = JSON.stringify(each);
      made.set(text, this.#made.has(text) ? this.#made.get(text) : this.#madeOf(each));
    }
    this.#made = made;
    const loaded = new Set(this.#loaded.map(titleOf));
    const others = [...made.values()].filter((one) => one !== undefined && !loaded.has(titleOf(one)));
    this.all = [...this.#loaded, ...(others as readonly Definition[])].sort(
      (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) || b.version - a.version,
    );
    this.#readAtMs = this.#host.ports.clock.monotonicMs();
    return this.all;
  }

  /** One that can't be read is told once, and keeps no other away. */
  #madeOf(registration: Parameters<typeof registeredDefinition>[0]): Definition | undefined {
    try {
      return registeredDefinition(registration);
    } catch (error) {
      this.#onError('definitions', error);
      return undefined;
    }
  }
}

const titleOf = ({ name, version }: Definition): string => `${name}@${version}`;
