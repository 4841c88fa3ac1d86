import { parentPort } from 'node:worker_threads'
import { END, SILENT } from '../worker-thread.ts'
import type { Database } from './client.ts'
import { DATABASE_DEADLINE_MS, guardStore } from './guard.ts'
import { connectPostgres } from './postgres.ts'

/** What a `WorkerThread` has on its own side. */
export interface ThreadDatabase {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  /** Posts the answer to each message. Messages that come meanwhile are answered beside it. */
  answer<Message, Reply>(answerTo: (message: Message) => Promise<Reply>): void
}

/**
 * Connects a thread to the database, and closes thread and connections at the message `END`. If the
 * database is silent, the connections are renewed and the starter is told.
 */
export function openThreadDatabase(databaseUrl: string, connectionsMax: number): ThreadDatabase {
  const connections = connectPostgres(databaseUrl, connectionsMax)
  const guard = {
    deadlineMs: DATABASE_DEADLINE_MS,
    onOverdue: () => {
      connections.renew()
      parentPort?.postMessage(SILENT)
    },
  }
  return {
    db: connections.db,
    guarded: (store) => guardStore(store, guard),
    answer: <Message, Reply>(answerTo: (message: Message) => Promise<Reply>) => {
      parentPort?.on('message', async (message: Message | typeof END) => {
        if (message === END) {
          await connections.close()
          parentPort?.close()
          return
        }
        parentPort?.postMessage(await answerTo(message))
      })
    },
  }
}
