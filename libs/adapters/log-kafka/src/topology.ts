/**
 * Owns what is known of the cluster: its brokers, the topic's partitions, and the leader of each. It refreshes only when a caller found it
 * wrong, or wants the number of partitions; one request is under way at a time, and all callers share its answer. Must not read or write
 * records.
 */

import { ConfigError, UnavailableError } from '@tidemark/core';
import { type Address, showAddress } from './address.ts';
import { authorizationError, isAuthorizationCode, UNKNOWN_TOPIC } from './answers.ts';
import { Channel, type ChannelOptions, rootMessage } from './channel.ts';
import { METADATA } from './wire.ts';
import { type BrokerNode, metadataAnswer, metadataRequest } from './wire-partitions.ts';

export interface TopologyOptions {
  readonly topic: string;
  readonly seeds: readonly Address[];
  readonly channel: ChannelOptions;
}

export class Topology {
  readonly #options: TopologyOptions;
  #brokers: ReadonlyMap<number, BrokerNode> = new Map();
  #leaders: Int32Array = new Int32Array(0);
  #replicationFactor = 0;
  #missingSinceMs: number | undefined;
  #channel: Channel | undefined;
  #refreshing: Promise<void> | undefined;
  #closed = false;

  constructor(options: TopologyOptions) {
    this.#options = options;
  }

  /** Partitions of the topic as last reported; 0 while it is not known to exist. */
  get partitionCount(): number {
    return this.#leaders.length;
  }

  /** Replicas of the partition that has the fewest. */
  get replicationFactor(): number {
    return this.#replicationFactor;
  }

  /** Milliseconds for which the cluster has denied that the topic exists; 0 when it does. */
  get missingForMs(): number {
    return this.#missingSinceMs === undefined ? 0 : performance.now() - this.#missingSinceMs;
  }

  /** Undefined while the partition has no leader, or is not known. */
  leaderOf(partition: number): BrokerNode | undefined {
    const nodeId = this.#leaders[partition];
    return nodeId === undefined ? undefined : this.#brokers.get(nodeId);
  }

  /** Refreshes from the cluster. Throws `UnavailableError` when no broker answers. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#ask().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  close(): void {
    this.#closed = true;
    this.#channel?.close();
  }

  async #ask(): Promise<void> {
    const reasons: string[] = [];
    let cause: unknown;
    for (const address of this.#candidates()) {
      if (this.#closed) break;
      try {
        this.#take(await this.#channelTo(address).request(METADATA, metadataRequest(this.#options.topic)));
        return;
      } catch (error) {
        if (error instanceof ConfigError) throw error;
        cause = error;
        reasons.push(`${showAddress(address)} (${rootMessage(error)})`);
        this.#channel?.close();
        this.#channel = undefined;
      }
    }
    const tried = this.#closed ? 'the log was closed' : reasons.join(', ');
    throw new UnavailableError('log-unavailable', `No Kafka broker answers: ${tried}`, {
      addresses: this.#options.seeds.map(showAddress),
      cause,
    });
  }

  /** The broker that answered last, then the others, then those from the configuration. */
  #candidates(): readonly Address[] {
    const seen = new Map<string, Address>();
    const known = this.#channel === undefined ? [] : [this.#channel.address];
    for (const address of [...known, ...this.#brokers.values(), ...this.#options.seeds]) {
      if (!seen.has(showAddress(address))) seen.set(showAddress(address), address);
    }
    return [...seen.values()];
  }

  #channelTo(address: Address): Channel {
    if (this.#channel === undefined || showAddress(this.#channel.address) !== showAddress(address)) {
      this.#channel?.close();
      this.#channel = new Channel(address, this.#options.channel);
    }
    return this.#channel;
  }

  /** Returns the existing object for a broker that has not moved: callers compare brokers by identity. */
  #same(node: BrokerNode): BrokerNode {
    const known = this.#brokers.get(node.nodeId);
    return known !== undefined && showAddress(known) === showAddress(node) ? known : node;
  }

  #take(bytes: Buffer): void {
    const answer = metadataAnswer(bytes);
    if (isAuthorizationCode(answer.errorCode)) throw authorizationError(this.#options.topic, answer.errorCode);
    this.#brokers = new Map(Array.from(answer.brokers, ([nodeId, node]) => [nodeId, this.#same(node)]));
    if (answer.errorCode === UNKNOWN_TOPIC) {
      this.#missingSinceMs ??= performance.now();
      return;
    }
    this.#missingSinceMs = undefined;
    // Partitions are never removed: a broker that lags behind the others may still report the old number.
    if (answer.leaders.length >= this.#leaders.length) {
      this.#leaders = answer.leaders;
      this.#replicationFactor = answer.replicationFactor;
    }
  }
}
