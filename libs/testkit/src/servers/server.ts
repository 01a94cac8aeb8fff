/** Owns the types of the test servers: which kinds there are, what a started one offers, and the message when one is unavailable. Must start nothing. */

/** The servers of a cluster of Tidemark. */
export const clusterKinds = ['kafka', 'redis', 'postgres'] as const;
export type ClusterKind = (typeof clusterKinds)[number];
export type ServerKind = ClusterKind | 's3' | 'kms' | 'bao';
export const serverKinds: readonly ServerKind[] = [...clusterKinds, 's3', 'kms', 'bao'];

export type ServerSource = 'environment' | 'docker' | 'native';

/** Where a native server keeps its data: `memory` is a memory file system when the machine has one, for speed. */
export type DataIn = 'memory' | 'disk';

export interface ServerOptions {
  /** Default `memory`. Native servers only. */
  readonly dataIn?: DataIn;
  /** With data in memory: syncs anyway, as one on disk, so that its settings are those of a durable one. Postgres alone. */
  readonly synced?: boolean;
  /** Where to look, in this order. Default: environment, docker, native. A fault test that kills asks for `['native']`. */
  readonly sources?: readonly ServerSource[];
}

interface ServerHandle {
  readonly kind: ServerKind;
  /**
   * Kafka `host:port`, Redis `redis://…`, Postgres `postgres://…` of a role that may create databases, S3 `http://KEY:SECRET@host:port`
   * of one that may create buckets, an AWS KMS `http://host:port` that takes any credentials, OpenBao `http://token:TOKEN@host:port` of one
   * that may do everything.
   */
  readonly address: string;
  /** Ends the server and removes its data; does nothing for an address from the environment. Safe to call again. */
  stop(): Promise<void>;
}

export interface ForeignServer extends ServerHandle {
  readonly source: 'environment' | 'docker';
}

/** A server that this process started itself, and which it may therefore crash. */
export interface NativeServer extends ServerHandle {
  readonly source: 'native';
  /** Folder with its data and its log. */
  readonly folder: string;
  /** Of the process that runs now; undefined while none does. */
  readonly pid: number | undefined;
  /** Ends it at once, without a clean shutdown; its data stays (Redis keeps none). */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. Resolves when it answers. */
  startAgain(): Promise<void>;
}

export type StartedServer = ForeignServer | NativeServer;

/** A server that is unavailable here: why, and what a person can do about it. Never holds credentials. */
export interface UnavailableServer {
  readonly kind: ServerKind;
  readonly unavailable: string;
  readonly remedy: string;
}

export function isUnavailable(server: StartedServer | UnavailableServer): server is UnavailableServer {
  return 'unavailable' in server;
}

/** The variable that gives the address of a server of this kind. */
export const addressVariable: Readonly<Record<ServerKind, string>> = {
  kafka: 'TIDEMARK_TEST_KAFKA',
  redis: 'TIDEMARK_TEST_REDIS',
  postgres: 'TIDEMARK_TEST_POSTGRES',
  s3: 'TIDEMARK_TEST_S3',
  kms: 'TIDEMARK_TEST_KMS',
  bao: 'TIDEMARK_TEST_BAO',
};
