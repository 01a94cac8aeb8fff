/** Owns what the programs of this folder call: the fake receiver of `tidemark crash-test`, or whatever else `TIDEMARK_CRASH_TEST_URL` names. */

const { TIDEMARK_CRASH_TEST_URL: url, TIDEMARK_CRASH_TEST_FOLDER: folder } = process.env;
if (url === undefined || folder === undefined) throw new Error('Start it by: tidemark crash-test -- node FILE');

/** Where the program keeps its state. */
export const stateFolder = folder;

export async function post(path: string, body: object, key?: string, signal?: AbortSignal): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.json();
}
