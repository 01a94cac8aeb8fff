/**
 * Owns keeping the deletion cost of a worker's own pod current, by which a ReplicaSet that scales in chooses the pod whose end repeats
 * least. It writes one annotation of one pod and nothing else. A failed write only makes the choice worse.
 */

import { readFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { ConfigError, UnavailableError } from '@tidemark/core';
import type { Uncheckpointed } from '@tidemark/runtime';

const ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';

/** Least time between two writes, which the API server pays for; a change by less than a tenth is not written. Milliseconds. */
const PERIOD_MS = 10_000;
const CHANGE_MIN_SHARE = 0.1;
const ANSWER_TIMEOUT_MS = 5_000;
/** Longest pause after failures in a row, which doubles; milliseconds. */
const PAUSE_MAX_MS = 320_000;
/** Kubernetes takes 32 bits. */
const COST_MAX = 2_147_483_647;

/** One for each workflow that is held, and one for each second that steps under way have run: an idle worker costs nothing. */
export const costOf = ({ workflowCount, stepMs }: Uncheckpointed): number =>
  Math.min(workflowCount + Math.round(stepMs / 1_000), COST_MAX);

/** How a pod reaches its API server. */
export interface ClusterApi {
  readonly host: string;
  readonly port: number;
  /** Folder with `token`, `ca.crt` and `namespace`; the token in it is renewed by Kubernetes. */
  readonly accountFolder: string;
}

const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Uses what Kubernetes gives every pod. Throws `ConfigError` (`not-in-cluster`). */
export function inClusterApi(env: Readonly<Record<string, string | undefined>>): ClusterApi {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (host === undefined || host === '' || port === undefined) {
    const message =
      'TIDEMARK_POD_NAME is set, and this is not a pod of Kubernetes: KUBERNETES_SERVICE_HOST is missing. Leave it empty.';
    throw new ConfigError('not-in-cluster', message);
  }
  return { host, port: Number(port), accountFolder: ACCOUNT_FOLDER };
}

export interface DeletionCostOptions {
  readonly api: ClusterApi;
  readonly pod: string;
  /** Work that would have to be repeated if the worker ended now. */
  readonly of: () => Uncheckpointed;
  readonly onError: (where: string, error: unknown) => void;
  readonly periodMs?: number | undefined;
}

/** Writes at once, and then as the cost changes. Returns a function that stops it; it keeps no process alive. */
export function keepDeletionCost({ api, pod, of, onError, periodMs = PERIOD_MS }: DeletionCostOptions): () => void {
  let written: number | undefined;
  let failureCount = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const poll = async (): Promise<void> => {
    const cost = costOf(of());
    if (written !== undefined && !hasChanged(written, cost)) return;
    await writeCost(api, pod, cost);
    written = cost;
  };
  const next = (): void => {
    if (isOver) return;
    const pauseMs = Math.min(periodMs * 2 ** failureCount, Math.max(PAUSE_MAX_MS, periodMs));
    timer = setTimeout(pollSafely, pauseMs).unref();
  };
  const pollSafely = (): void => {
    poll()
      .then(
        () => {
          failureCount = 0;
        },
        (error: unknown) => {
          failureCount += 1;
          onError('deletion cost', error);
        },
      )
      .finally(next);
  };
  pollSafely();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** A change from zero always counts. */
const hasChanged = (before: number, now: number): boolean =>
  before === 0 || now === 0 ? before !== now : Math.abs(now - before) > CHANGE_MIN_SHARE * before;

function writeCost({ host, port, accountFolder }: ClusterApi, pod: string, cost: number): Promise<void> {
  const read = (name: string): string => readFileSync(`${accountFolder}/${name}`, 'utf8').trim();
  const body = JSON.stringify({ metadata: { annotations: { [ANNOTATION]: String(cost) } } });
  const path = `/api/v1/namespaces/${encodeURIComponent(read('namespace'))}/pods/${encodeURIComponent(pod)}`;
  return patch(
    {
      ...{ method: 'PATCH', host, port, path, ca: read('ca.crt') },
      headers: {
        authorization: `Bearer ${read('token')}`,
        'content-type': 'application/merge-patch+json',
        'content-length': Buffer.byteLength(body),
      },
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      agent: false,
    },
    body,
  );
}

/** Reads answers to their end, and drops them: they hold the whole pod. */
function patch(options: RequestOptions, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer) => {
      answer.resume().once('error', reject);
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve();
        else
          reject(
            new UnavailableError(
              'deletion-cost',
              `The API server answers ${answer.statusCode} to the deletion cost of this pod.`,
            ),
          );
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
