import { parentPort } from 'node:worker_threads'
import type { Deps } from '../deps.ts'
import { answerCalls, SILENT } from '../worker-thread.ts'
import { DATABASE_DEADLINE_MS, guardStore } from './guard.ts'
import { connectPostgres } from './postgres.ts'

/** A `WorkerThread`'s own database. */
interface ThreadDatabase extends Pick<Deps, 'db' | 'guarded'> {
  /** Answers calls, see `answerCalls`. */
  answer<Message, Reply>(
    answer: (message: Message) => Promise<Reply>,
    movedWith?: (reply: Reply) => readonly ArrayBuffer[],
  ): void
}

/**
 * Connects a thread to the database, and closes thread and connections at the message `END`. If the
 * database is silent, the connections are renewed and the starter is told.
 */
export function openThreadDatabase(databaseUrl: string, connectionsMax: number): ThreadDatabase {
  const connections = connectPostgres(databaseUrl, connectionsMax)
  const guard = {
    deadlineMs: DATABASE_DEADLINE_MS,
    renew: (isCertain = false) => {
      connections.renew(isCertain)
      if (!isCertain) parentPort?.postMessage(SILENT)
    },
  }
  return {
    db: connections.db,
    guarded: (store) => guardStore(store, guard),
    answer: (answer, movedWith) =>
      answerCalls(answer, { onEnd: () => connections.close(), ...(movedWith && { movedWith }) }),
  }
}
