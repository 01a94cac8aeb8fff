/**
 * Owns the addresses of collectors, by OpenTelemetry's own names in the environment, and sending spans and metrics there with its
 * exporters. It holds headers, which may be secrets, and must not print them. OpenTelemetry's packages are loaded at the first request, so
 * that a command that sends nothing does without.
 */

import type { Resource } from '@opentelemetry/resources';
import { ConfigError, LimitError, messageOf, UnavailableError } from '@tidemark/core';
import { isInClear } from '@tidemark/ports';
import { EchoMask } from '@tidemark/secrets';
import { clusterPackage } from './cluster-package.ts';
import { LAST_ANSWER_MAX_MS } from './limits.ts';
import { readableSpan } from './readable-span.ts';
import type { TraceSpan } from './span.ts';
import { SpanRequests, TOO_LARGE } from './span-requests.ts';

/** Longest request, in milliseconds (the default of OTEL_EXPORTER_OTLP_TIMEOUT). */
const REQUEST_TIMEOUT_MS = 10_000;

const PROTOCOLS = ['http/protobuf', 'http/json', 'grpc'] as const;

export interface Collector {
  readonly signal: Signal;
  readonly protocol: (typeof PROTOCOLS)[number];
  /** For HTTP the whole address of the signal: `http://localhost:4318/v1/traces`; for gRPC `http://localhost:4317`. */
  readonly url: string;
  /** In the form of the environment: `key=value,key=value`, values percent-encoded. */
  readonly headers: string;
  readonly timeoutMs: number;
  /** Name of the service, and further attributes of the resource, in the form of `headers`. */
  readonly service: string;
  readonly resource: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Signals; each may have an address, headers and more of its own. */
export type Signal = 'traces' | 'metrics';

/** The collector at this address, or at the environment's; undefined: none is named. Throws `ConfigError` (`setting-invalid`). */
export function collectorOf(env: Env, endpoint?: string, signal: Signal = 'traces'): Collector | undefined {
  const name = (what: string): string => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${what}`;
  const own = env[name('ENDPOINT')];
  const base = endpoint ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const named = endpoint === undefined && own !== undefined && own !== '' ? own : undefined;
  if (named === undefined && (base === undefined || base === '')) return undefined;
  if (env.OTEL_SDK_DISABLED === 'true' && endpoint === undefined) return undefined;
  const protocol = protocolOf(env[name('PROTOCOL')] || env.OTEL_EXPORTER_OTLP_PROTOCOL);
  const url = named === undefined ? signalUrl(base!, signal, protocol) : checkedUrl(named, name('ENDPOINT')).href;
  const headers = env[name('HEADERS')] || env.OTEL_EXPORTER_OTLP_HEADERS || '';
  if (headers !== '' && isInClear(new URL(url))) {
    const message = `${name('HEADERS')} or OTEL_EXPORTER_OTLP_HEADERS: what they hold, a key say, would cross the network to ${new URL(url).host} in clear, also within a cluster. Give that collector a certificate and name it by https://; or send by http:// to one on this machine or in the same pod (localhost), which adds them; or unset them.`;
    throw new ConfigError('setting-invalid', message);
  }
  return {
    ...{ signal, protocol, url, headers },
    timeoutMs: timeoutOf(env[name('TIMEOUT')] || env.OTEL_EXPORTER_OTLP_TIMEOUT),
    service: env.OTEL_SERVICE_NAME ?? '',
    resource: env.OTEL_RESOURCE_ATTRIBUTES ?? '',
  };
}

/** `more`: attributes of this process. */
export async function resourceOf(
  { service, resource }: Pick<Collector, 'service' | 'resource'>,
  more: Readonly<Record<string, string>> = {},
): Promise<Resource> {
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const named = service === '' ? {} : { 'service.name': service };
  return resourceFromAttributes({ 'service.name': 'tidemark', ...(await pairsIn(resource)), ...named, ...more });
}

const pairsIn = async (text: string): Promise<Record<string, string>> =>
  (await import('@opentelemetry/core')).parseKeyPairsIntoRecord(text);

/**
 * As the specification says: the signal's path is appended to the base, unless the base ends with it. A base that ends with the other
 * signal's path keeps it.
 */
function signalUrl(base: string, signal: Signal, protocol: Collector['protocol']): string {
  const url = checkedUrl(base, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  if (protocol === 'grpc') return url.href;
  const root = url.pathname.replace(/\/v1\/(?:traces|metrics)$/, '').replace(/\/$/, '');
  url.pathname = `${root}/v1/${signal}`;
  return url.href;
}

function checkedUrl(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new ConfigError('setting-invalid', `${name}: expected http://HOST:PORT or https://HOST:PORT.`, { name });
}

function protocolOf(named = ''): Collector['protocol'] {
  const protocol = PROTOCOLS.find((each) => each === (named || PROTOCOLS[0]));
  if (protocol !== undefined) return protocol;
  throw new ConfigError(
    'setting-invalid',
    `OTEL_EXPORTER_OTLP_PROTOCOL: ${named} is not spoken here; expected ${PROTOCOLS.join(', ')}.`,
  );
}

function timeoutOf(text: string | undefined): number {
  const ms = Number(text);
  return text === undefined || text === '' || !Number.isFinite(ms) || ms <= 0 ? REQUEST_TIMEOUT_MS : ms;
}

/** As OpenTelemetry's `ExportResultCode` has it. */
const SUCCESS = 0;

/** What the exporters of both signals share. */
interface Exporter<Items> {
  export(items: Items, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
}

type Config = { url: string; timeoutMillis: number; headers: Record<string, string>; metadata?: unknown };

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** Aborts when the process is to end. */
  readonly ending?: AbortSignal | undefined;
}

/** One connection to a collector. */
export class CollectorClient<Items> {
  readonly #collector: Collector;
  #exporter: Promise<Exporter<Items>> | undefined;
  /** Values of headers, which errors must not show. */
  #secrets: readonly string[] = [];

  constructor(collector: Collector) {
    this.#collector = collector;
  }

  /**
   * Sends one request. `signal` aborts it; once `ending` is aborted, an answer may take `LAST_ANSWER_MAX_MS` more. Throws `UnavailableError`
   * (`collector-away`: a retry may succeed), `LimitError` (`collector-too-large`: a smaller request may succeed; over gRPC also a collector that
   * is busy) and `ConfigError` (`collector-refused`: a retry would be refused again).
   */
  async send(items: Items, { signal, ending }: SendOptions = {}): Promise<void> {
    this.#exporter ??= this.#open().catch((error: unknown) => {
      this.#exporter = undefined;
      throw error;
    });
    const exporter = await this.#exporter;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Error | undefined>();
    const stop = (): void => reject(signal!.reason);
    signal?.addEventListener('abort', stop, { once: true });
    let timer: NodeJS.Timeout | undefined;
    const hurry = (): void => {
      const silent = new Error(`no answer within ${LAST_ANSWER_MAX_MS / 1_000} s, and this process ends`);
      timer = setTimeout(() => resolve(silent), LAST_ANSWER_MAX_MS);
    };
    if (ending?.aborted === true) hurry();
    else ending?.addEventListener('abort', hurry, { once: true });
    try {
      exporter.export(items, ({ code, error }) =>
        resolve(code === SUCCESS ? undefined : (error ?? new Error('no reason is given'))),
      );
      const failure = await promise;
      if (failure !== undefined) throw this.#failureOf(failure);
    } finally {
      signal?.removeEventListener('abort', stop);
      ending?.removeEventListener('abort', hurry);
      clearTimeout(timer);
    }
  }

  async #open(): Promise<Exporter<Items>> {
    const { signal, protocol, url, timeoutMs } = this.#collector;
    const headers = await pairsIn(this.#collector.headers);
    this.#secrets = Object.values(headers);
    const config: Config = { url, timeoutMillis: timeoutMs, headers };
    const cluster = await clusterPackage('Sending to a collector (OTEL_EXPORTER_OTLP_ENDPOINT)');
    if (protocol === 'grpc') {
      const { Metadata } = await cluster.grpc();
      const metadata = new Metadata();
      for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
      config.metadata = metadata;
    }
    const exporters = signal === 'traces' ? cluster.traceExporters : cluster.metricExporters;
    return (await exporters[protocol](config)) as unknown as Exporter<Items>;
  }

  #failureOf(failure: Error): Error {
    const { url, protocol } = this.#collector;
    const host = new URL(url).host;
    const { code } = failure as { readonly code?: unknown };
    // The message may quote a header.
    const masked = new EchoMask(this.#secrets, '[masked]').error(failure);
    const why = messageOf(masked) || String(code);
    const answered = typeof code === 'number' ? ` answered ${code} (${why})` : ` does not answer: ${why}`;
    const isGrpc = protocol === 'grpc';
    if (code === (isGrpc ? RESOURCE_EXHAUSTED : 413)) {
      const details = { mayBeBusy: isGrpc, cause: masked };
      return new LimitError(TOO_LARGE, `The collector at ${host}${answered}: the request may be too large.`, details);
    }
    if (typeof code !== 'number' || (isGrpc ? !REFUSED_GRPC.has(code) : code === 429 || code >= 500)) {
      return new UnavailableError('collector-away', `The collector at ${host}${answered}.`, { cause: masked });
    }
    const message = `The collector at ${host}${answered}. Check its address and OTEL_EXPORTER_OTLP_HEADERS.`;
    return new ConfigError('collector-refused', message);
  }
}

const RESOURCE_EXHAUSTED = 8;
/** INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED. */
const REFUSED_GRPC: ReadonlySet<number> = new Set([3, 5, 7, 12, 16]);

/** One client for the spans of one process. */
export class SpanClient {
  readonly #client: CollectorClient<readonly ReturnType<typeof readableSpan>[]>;
  readonly #collector: Collector;
  #resource: Promise<Resource> | undefined;

  constructor(collector: Collector) {
    this.#client = new CollectorClient(collector);
    this.#collector = collector;
  }

  /** Sends one request. Throws as `CollectorClient.send`. */
  async send(spans: readonly TraceSpan[], options?: SendOptions): Promise<void> {
    this.#resource ??= resourceOf(this.#collector);
    const resource = await this.#resource;
    await this.#client.send(
      spans.map((span) => readableSpan(span, resource)),
      options,
    );
  }

  /** Sends all of them, in as many requests as it takes, in order. `onCut` is called for each that was too large alone. */
  async sendAll(spans: readonly TraceSpan[], onCut: (error: Error) => void): Promise<void> {
    const waiting = [...spans];
    const requests = new SpanRequests(onCut);
    while (waiting.length > 0) {
      const { count, refusal } = await requests.send(waiting, (some) => this.send(some));
      if (refusal !== undefined) throw refusal;
      waiting.splice(0, count);
    }
  }
}

/** One `ExportTraceServiceRequest` in the JSON of OTLP. */
export async function otlpJson(spans: readonly TraceSpan[]): Promise<string> {
  const resource = await resourceOf({ service: '', resource: '' });
  const { JsonTraceSerializer } = await import('@opentelemetry/otlp-transformer');
  const request = JsonTraceSerializer.serializeRequest(spans.map((span) => readableSpan(span, resource)));
  return Buffer.from(request!).toString();
}
