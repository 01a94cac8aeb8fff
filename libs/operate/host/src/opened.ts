/** Owns what a process has opened so far, so that all of it is closed, newest first, when something later can't be opened, and at the end. */

interface Closable {
  close(): Promise<void>;
}

export class Opened {
  readonly #things: Closable[] = [];

  async add<T extends Closable>(opening: T | Promise<T>): Promise<T> {
    const thing = await opening;
    this.#things.push(thing);
    return thing;
  }

  async close(): Promise<void> {
    for (let thing = this.#things.pop(); thing !== undefined; thing = this.#things.pop()) await thing.close();
  }

  /** A failed opening leaves nothing open. */
  static async all<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    const opened = new Opened();
    try {
      return await work(opened);
    } catch (error) {
      await opened.close();
      throw error;
    }
  }
}
