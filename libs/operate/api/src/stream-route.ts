/** Owns the declaration of routes that answer with server-sent events. Must not know Fastify. */

import type { z } from 'zod';
import type { EventSink, SinkForm } from './events/sink.ts';
import type { Streams } from './events/streams.ts';
import { type Call, type Listed, type ParsedBy, problemsOf, type RouteFacts } from './route.ts';

export interface Follow<P, Q>
  extends Pick<Call<P, Q, undefined>, 'params' | 'query' | 'principal' | 'redaction' | 'backend'> {
  readonly streams: Streams;
  /** The follower's `Last-Event-ID`; undefined if it sent none. */
  readonly lastId: string | undefined;
}

/** Writes the stream once the caller is admitted; null: there is nothing to send (204). */
export type Following = ((sink: EventSink) => Promise<void>) | null;

export interface StreamRoute<
  P extends z.ZodType | undefined = z.ZodType | undefined,
  Q extends z.ZodType | undefined = z.ZodType | undefined,
> extends RouteFacts {
  readonly method: 'GET';
  readonly params: P;
  readonly query: Q;
  /** What the stream sends, by the name of the event. */
  readonly events: Readonly<Record<string, { readonly schema: z.ZodType; readonly about: string }>>;
  /** Whether the stream may end by itself, which is answered with 204. */
  readonly mayEnd: boolean;
  /** Another form than events of this API, if the query asks for one. */
  readonly formOf?: ((query: ParsedBy<Q>) => SinkForm | undefined) | undefined;
  /** An error before the first event is answered as a problem. */
  readonly follow: (call: Follow<ParsedBy<P>, ParsedBy<Q>>) => Promise<Following>;
}

/** A stream of which only the declaration is known. */
export interface AnyStream extends Omit<StreamRoute, 'follow' | 'formOf'>, Listed {
  formOf?(query: never): SinkForm | undefined;
  follow(call: Follow<never, never>): Promise<Following>;
}

/** A stream with its types; the server sees `AnyStream`. */
export function streamRoute<
  const L extends RouteFacts['path'],
  N extends Readonly<Record<string, z.ZodType>>,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
>(
  declared: Omit<StreamRoute<P, Q>, 'path' | 'method' | 'events' | 'params' | 'query'> & {
    readonly method: 'GET';
    readonly path: L;
    readonly params?: P;
    readonly query?: Q;
    readonly events: { readonly [K in keyof N]: { readonly schema: N[K]; readonly about: string } };
  },
): Omit<StreamRoute<P, Q>, 'path' | 'events'> & { readonly path: L; readonly events: typeof declared.events } {
  const parts = { params: declared.params as P, query: declared.query as Q };
  return { ...declared, ...parts, problems: problemsOf({ ...declared, ...parts }) };
}
