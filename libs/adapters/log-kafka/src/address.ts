/** Owns parsing and printing brokers' addresses. A printed address never has credentials. */

import { ConfigError } from '@tidemark/core';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export const showAddress = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** Removes anything before an `@`, where addresses of other systems have credentials. */
function redacted(text: string): string {
  const at = text.lastIndexOf('@');
  if (at < 0) return text;
  const scheme = text.lastIndexOf('://', at);
  return `${scheme < 0 ? '' : text.slice(0, scheme + 3)}***${text.slice(at)}`;
}

const SHAPE = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s/@:[\]]+)):([0-9]{1,5})$/;

/** Parses `host:port` or `[ipv6]:port`. */
export function parseAddress(text: string): Address {
  const match = SHAPE.exec(text.trim());
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || !(port > 0 && port < 65_536)) {
    const shown = redacted(text);
    throw new ConfigError('log-address-invalid', `"${shown}" is not a broker's address; write host:port.`, {
      address: shown,
    });
  }
  return { host, port };
}

export function parseAddresses(brokers: readonly string[]): readonly Address[] {
  if (brokers.length === 0)
    throw new ConfigError('log-address-invalid', 'No broker is named; give at least one host:port.');
  return brokers.map(parseAddress);
}
