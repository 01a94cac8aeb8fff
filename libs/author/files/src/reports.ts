/** Owns the reports of the file view to its caller: each thing once. Must not print. */

export interface FilesReport {
  /**
   * `corrupt`: a file was set aside. `withheld`: a secret isn't written. `taken`: something from outside was taken over.
   * `refused`: something from outside can't be. `overlooked`: a harmless slip in a file. `unnamed`: a done step names no output.
   * `archived`: a run's file was replaced by the next one's. `away`: the folder or the rows are unavailable, and the pass is retried.
   */
  readonly kind: 'corrupt' | 'withheld' | 'taken' | 'refused' | 'overlooked' | 'unnamed' | 'archived' | 'away';
  readonly message: string;
}

export type OnReport = (report: FilesReport) => void;

/** Repeated only after another report of the same kind. */
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

  /** It is available again: the next fault is news. */
  forget(kind: FilesReport['kind']): void {
    for (const key of this.#reported) if (key.startsWith(`${kind} `)) this.#reported.delete(key);
  }
}
