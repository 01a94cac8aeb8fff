/** Owns the failure that a server reported, or that kept the client from reaching it. */

export class TidemarkApiError extends Error {
  override readonly name = 'TidemarkApiError';
  /** Status of the answer; 0: there was none. */
  readonly status: number;
  /** Stable: `workflow-unknown`, `right-missing`, …; `unreachable` where there was no answer. */
  readonly code: string;
  /** Milliseconds after which to retry, where the server said so. */
  readonly retryAfterMs: number | undefined;
  /** Version of the server that answered; undefined: none answered, or it doesn't say. */
  readonly serverVersion: string | undefined;
  readonly fields: readonly { readonly field: string; readonly problem: string }[];

  constructor(
    reported: { readonly status: number; readonly code: string; readonly detail: string; readonly fields?: unknown },
    options: {
      readonly cause?: unknown;
      readonly retryAfterMs?: number | undefined;
      readonly serverVersion?: string | undefined;
    } = {},
  ) {
    super(reported.detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = reported.status;
    this.code = reported.code;
    this.retryAfterMs = options.retryAfterMs;
    this.serverVersion = options.serverVersion;
    this.fields = (reported.fields ?? []) as TidemarkApiError['fields'];
  }

  /** Whether the same request may succeed later. 502 and 504 are of a proxy whose server is away. */
  get canRetry(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status);
  }
}
