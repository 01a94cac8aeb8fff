/** Owns what a process has opened so far, so that all of it is closed, newest first, when something later can't be opened, and at the end. */

interface Closable {
  close(): Promise<void>;
}

export class Opened {
  readonly #closables: Closable[] = [];

  async add<T extends Closable>(opening: T | Promise<T>): Promise<T> {
    const closable = await opening;
    this.#closables.push(closable);
    return closable;
  }

  async close(): Promise<void> {
    for (let closable = this.#closables.pop(); closable !== undefined; closable = this.#closables.pop())
      await closable.close();
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
