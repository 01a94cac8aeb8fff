/** Owns every limit of the test servers, with its unit. Must hold no logic. */

/** How long a server may take from its start to its first answer. Kafka needs about 3 s, on a busy machine more. */
export const serverStartTimeoutMs = 90_000;
/** Poll interval of a starting server. */
export const readyPollMs = 40;
/** How long an address from the environment may take to accept a connection. */
export const connectTimeoutMs = 3_000;
/** How long the Docker engine may take to answer before it counts as absent. */
export const dockerPingTimeoutMs = 1_500;
/** How long a server may take to end after the signal to end, before it is killed. */
export const endGraceMs = 5_000;
/** How long an installation (Maven jars, a system package, an npm package) may take. */
export const installTimeoutMs = 300_000;
/** What must be free in the memory file system to hold a server's data there. */
export const memoryFolderFreeMinBytes = 768 * 1024 * 1024;
/** What must be free there for the files of all tests of a run, beside the servers' data. */
export const testFilesFreeMinBytes = 4 * 1024 * 1024 * 1024;
/** Heap of the test broker: at start and at most. */
export const kafkaHeapStartBytes = 256 * 1024 * 1024;
export const kafkaHeapMaxBytes = 768 * 1024 * 1024;
/** Connections that the test Postgres admits: all test files of a run share one server. */
export const postgresConnectionsMax = 200;
/** How many lines of a server's own log are quoted when it fails to start. */
export const logTailLines = 12;
/** How often a start is retried when another process took a free port in between. */
export const startAttemptsMax = 3;
/** Ports of test servers: from, and up to but without. Below what Linux, macOS and Windows give to outgoing connections. */
export const portMin = 15_000;
export const portMax = 32_000;
/** How many ports are tried before there is said to be none. */
export const portAttemptsMax = 100;
