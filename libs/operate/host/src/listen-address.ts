/** Owns the form `host:port` of an address that a process listens on. */

export interface ListenAddress {
  readonly host: string;
  /** 0: any. */
  readonly port: number;
}

/** Parses a text that the settings have checked; an IPv6 address stands in brackets. */
export function listenAddress(text: string): ListenAddress {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) };
}
