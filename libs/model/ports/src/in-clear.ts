/** Owns the rule by which a secret may go to an address: over TLS, or to this machine. Pure. */

/** Whether only this machine can reach a server at that host. An address of version 6 may be in brackets, as addresses of pages have it. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host);

/** Whether anyone on the way to that address can read what is sent there. */
export const isInClear = ({ protocol, hostname }: Pick<URL, 'protocol' | 'hostname'>): boolean =>
  protocol === 'http:' && !isLoopback(hostname);
