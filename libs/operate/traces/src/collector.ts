/**
 * Owns sending spans and metrics to a collector by OTLP over HTTP, and where that is: OpenTelemetry's own names in the environment. Holds
 * headers, which may be secrets; must not print them.
 */

import { ConfigError, UnavailableError } from '@tidemark/core';
import { EchoMask } from '@tidemark/secrets';
import { REQUEST_TIMEOUT_MS, SPANS_PER_REQUEST_MAX } from './limits.ts';
import { type OtlpForm, otlpRequest, type PackedSpan, packSpan, traceResource } from './otlp.ts';
import type { SpanAttributes, TraceSpan } from './span.ts';

export interface Collector {
  /** The whole address of the signal: `http://localhost:4318/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly form: OtlpForm;
  /** Of the service whose spans they are. */
  readonly resource: SpanAttributes;
}

type Env = Readonly<Record<string, string | undefined>>;

/** What is sent: each has an address, headers and more of its own where that is said. */
export type Signal = 'traces' | 'metrics';

/** The collector at this address, or at the environment's; undefined: none is named. Throws `ConfigError` (`setting-invalid`). */
export function collectorOf(env: Env, endpoint?: string, signal: Signal = 'traces'): Collector | undefined {
  const name = (what: string): string => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${what}`;
  const own = env[name('ENDPOINT')];
  const base = endpoint ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const named = endpoint === undefined && own !== undefined && own !== '' ? own : undefined;
  if (named === undefined && (base === undefined || base === '')) return undefined;
  if (env.OTEL_SDK_DISABLED === 'true' && endpoint === undefined) return undefined;
  return {
    url: named === undefined ? signalUrl(base!, signal) : checkedUrl(named, name('ENDPOINT')).href,
    headers: pairs(env[name('HEADERS')] || env.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMs: timeoutOf(env[name('TIMEOUT')] || env.OTEL_EXPORTER_OTLP_TIMEOUT),
    form: formOf(env[name('PROTOCOL')] || env.OTEL_EXPORTER_OTLP_PROTOCOL),
    resource: {
      ...pairs(env.OTEL_RESOURCE_ATTRIBUTES),
      ...(env.OTEL_SERVICE_NAME ? { 'service.name': env.OTEL_SERVICE_NAME } : {}),
    },
  };
}

/** As the specification says: the signal's path comes after the base, unless it is there already. A base that ends with another's is that base. */
function signalUrl(base: string, signal: Signal): string {
  const url = checkedUrl(base, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  const root = url.pathname.replace(/\/v1\/(?:traces|metrics)$/, '').replace(/\/$/, '');
  url.pathname = `${root}/v1/${signal}`;
  return url.href;
}

function checkedUrl(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new ConfigError('setting-invalid', `${name}: expected http://HOST:PORT or https://HOST:PORT.`, { name });
}

function formOf(protocol: string | undefined): OtlpForm {
  if (protocol === undefined || protocol === '' || protocol === 'http/protobuf') return 'protobuf';
  if (protocol === 'http/json') return 'json';
  throw new ConfigError(
    'setting-invalid',
    `OTEL_EXPORTER_OTLP_PROTOCOL: ${protocol} is not spoken here; expected http/protobuf or http/json (collectors take both at port 4318).`,
  );
}

function timeoutOf(text: string | undefined): number {
  const ms = Number(text);
  return text === undefined || text === '' || !Number.isFinite(ms) || ms <= 0 ? REQUEST_TIMEOUT_MS : ms;
}

/** `key=value,key=value`, values percent-encoded. */
function pairs(text: string | undefined): Readonly<Record<string, string>> {
  const found: [string, string][] = [];
  for (const pair of (text ?? '').split(',')) {
    const at = pair.indexOf('=');
    if (at > 0) found.push([pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]);
  }
  return Object.fromEntries(found);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * One request. Throws `UnavailableError` (`collector-away`: it may be tried again) and `ConfigError` (`collector-refused`: the same
 * spans would be refused again).
 */
export function sendSpans(collector: Collector, spans: readonly PackedSpan[], signal?: AbortSignal): Promise<void> {
  return sendBody(collector, otlpRequest(spans, collector.form, traceResource(collector.resource)), signal);
}

/** The same for what is written already. */
export async function sendBody(
  { url, headers, timeoutMs, form }: Collector,
  body: Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': form === 'json' ? 'application/json' : 'application/x-protobuf' },
    body: body as Uint8Array<ArrayBuffer>,
    signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
  }).catch((cause: unknown) => {
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    const message = `The collector at ${hostOf(url)} does not answer: ${why}.`;
    // A header that can't be sent is quoted.
    throw new EchoMask(Object.values(headers), '[masked]').error(
      new UnavailableError('collector-away', message, { cause }),
    );
  });
  await response.arrayBuffer().catch(() => undefined);
  if (response.ok) return;
  const message = `The collector at ${hostOf(url)} answered ${response.status} to ${new URL(url).pathname}.`;
  if (response.status === 429 || response.status >= 500) throw new UnavailableError('collector-away', message);
  throw new ConfigError('collector-refused', `${message} Check its address and OTEL_EXPORTER_OTLP_HEADERS.`);
}

const hostOf = (url: string): string => new URL(url).host;

/** All of them, in as many requests as it takes, in order. Throws as `sendSpans` does. */
export async function sendAll(collector: Collector, spans: readonly TraceSpan[]): Promise<void> {
  for (let at = 0; at < spans.length; at += SPANS_PER_REQUEST_MAX) {
    const some = spans.slice(at, at + SPANS_PER_REQUEST_MAX);
    await sendSpans(
      collector,
      some.map((span) => packSpan(span, collector.form)),
    );
  }
}
