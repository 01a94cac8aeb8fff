/** Owns what workers tell of their own steps, gathered until somebody takes it. */

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mergeTimes, type Times } from './times.ts';
import type { Note } from './workload.ts';

export class Notes {
  readonly #onEnded: (workflow: string) => void;
  #socket: Socket | undefined;
  #stepToStep: Times = new Map();
  #late: Times = new Map();

  /** `onEnded` is told of each workflow whose last step has run, perhaps more than once. */
  constructor(onEnded: (workflow: string) => void) {
    this.#onEnded = onEnded;
  }

  /** Returns the port. */
  async listen(): Promise<number> {
    const socket = createSocket('udp4');
    this.#socket = socket;
    socket.on('message', (bytes) => {
      const note = JSON.parse(bytes.toString()) as Note;
      mergeTimes(this.#stepToStep, note.stepToStep);
      mergeTimes(this.#late, note.late);
      for (const workflow of note.ended) this.#onEnded(workflow);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return socket.address().port;
  }

  /** What has come since it was last asked for. */
  take(): { readonly stepToStep: Times; readonly late: Times } {
    const taken = { stepToStep: this.#stepToStep, late: this.#late };
    this.#stepToStep = new Map();
    this.#late = new Map();
    return taken;
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }
}
