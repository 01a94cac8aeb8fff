/** The door of @tidemark/mcp. */

export type { MemoryDesk, RecallAnswer, RecalledEntry, RecallRequest } from './memory-desk.ts';
