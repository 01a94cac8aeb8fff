/** Owns the image's health check: asks the container's service whether it is ready, prints the answer, and exits with 0 only when it is. */

const listen = process.env.TIDEMARK_HEALTH_LISTEN ?? '';
const at = listen.lastIndexOf(':');
const [host, port] = [listen.slice(0, at), listen.slice(at + 1)];
// Where it listens everywhere, it is asked at home.
const asked = host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host;

try {
  if (at < 0) throw new Error('TIDEMARK_HEALTH_LISTEN is not set: expected host:port');
  const response = await fetch(`http://${asked}:${port}/readyz`, { signal: AbortSignal.timeout(5_000) });
  console.log((await response.text()).trim());
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  console.log(error.cause?.message ?? error.message);
  process.exitCode = 1;
}
