/** Owns what the file view tells whoever runs it: each thing once. Must not print. */

export interface FilesReport {
  /**
   * `corrupt`, `foreign`: a file was set aside. `withheld`: a secret isn't written. `taken`: something from outside came back.
   * `refused`: something from outside can't be taken. `overlooked`: a slip in a file that cost nothing. `unnamed`: a done step names no
   * output. `archived`: a run's file made place for the next one's. `away`: the folder
   * or the rows can't be used now; it is tried again.
   */
  readonly kind:
    | 'corrupt'
    | 'foreign'
    | 'withheld'
    | 'taken'
    | 'refused'
    | 'overlooked'
    | 'unnamed'
    | 'archived'
    | 'away';
  readonly message: string;
}

export type OnReport = (report: FilesReport) => void;

/** Told anew only once something else was told of the same kind. */
export class Reports {
  readonly #onReport: OnReport;
  readonly #reported = new Set<string>();

  constructor(onReport: OnReport = () => {}) {
    this.#onReport = onReport;
  }

  report(kind: FilesReport['kind'], message: string): void {
    const key = `${kind} ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#onReport({ kind, message });
  }

  /** What was away is there again: the next time is news. */
  forget(kind: FilesReport['kind']): void {
    for (const key of this.#reported) if (key.startsWith(`${kind} `)) this.#reported.delete(key);
  }
}
