// The thread that hosts PGlite for `embedded.ts`. This is an entry point: it runs when it is
// loaded.
import { setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { messages, PGlite, type Transaction } from '@electric-sql/pglite'

/** Task of the thread: to make a database in an empty directory, or to serve one. */
export interface WorkerTask {
  readonly task: 'initialise' | 'serve'
  readonly directory: string
  /** See `postgresModule`. */
  readonly postgres: WebAssembly.Module
}

export type Call =
  | {
      kind: 'query'
      sql: string
      params: unknown[]
      rowMode: 'array' | 'object'
      /** Ids of the types whose values are returned as PostgreSQL's text. */
      textTypes: readonly string[]
      tx: number | null
    }
  | { kind: 'exec'; sql: string; tx: number | null }
  | { kind: 'begin' | 'commit' | 'rollback'; tx: number }

/** Each call gets one reply, in any order; the reply to `close` is the end of the thread. */
export type Request = { id: number; call: Call } | 'close'

export type Reply =
  | { kind: 'ready' }
  /** The task is done and the thread ends next. */
  | { kind: 'done' }
  | { kind: 'value'; id: number; value: unknown }
  | { kind: 'error'; id: number; error: ErrorRecord }
  /** The thread ends next, for this reason. */
  | { kind: 'failed'; reason: string }

/** An error with its own properties, which a message between threads would drop. */
export interface ErrorRecord {
  readonly message: string
  readonly isDatabaseError: boolean
  /** `code`, `detail`, `constraint` and so on. */
  readonly fields: Readonly<Record<string, unknown>>
}

interface OpenTransaction {
  readonly tx: Transaction
  readonly commit: () => void
  readonly rollback: (reason: symbol) => void
  /** Settles after COMMIT or ROLLBACK. */
  readonly done: Promise<void>
}

// PostgreSQL's default of 128 MB would be the largest part of the process's memory. Log segments of
// 1 MB instead of 16 save memory while the first start copies them.
const INITDB_ARGS = ['-c', 'shared_buffers=16MB', '--wal-segsize=1']
const CHECKPOINT_WAL_BYTES = 32 * 1024 * 1024
const CHECKPOINT_CHECK_MS = 1_000
/** ENOSPC of WASI. */
const NO_SPACE = 51
const ROLLED_BACK = Symbol('rolled back by its caller')
const CLOSING = Symbol('rolled back by close')

const port = parentPort
if (port === null) throw new Error('embedded-worker.ts runs only as a worker thread')
const { task, directory, postgres }: WorkerTask = workerData
let lastPanic = 'PostgreSQL gave no reason'

main().catch((error: unknown) => fail(`${describeThrown(error)} (${lastPanic})`))

async function main(): Promise<void> {
  const pg = await openDatabase()
  if (task === 'serve') serve(new Host(pg))
  else await finish(pg)
}

/** PGlite's file system throws objects that are no errors, with the numbers of WebAssembly. */
function describeThrown(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message
  const { errno } = thrown as { errno?: unknown }
  return errno === NO_SPACE ? 'the disk is full' : `the disk fails with number ${errno}`
}

async function openDatabase(): Promise<PGlite> {
  const pg = await PGlite.create(directory, {
    pgliteWasmModule: postgres,
    initDbStartParams: INITDB_ARGS,
    onStderr: (line) => {
      // Other lines quote the statement, and with it personal data.
      lastPanic = /(?:PANIC|FATAL): +(.*)/.exec(line)?.[1] ?? lastPanic
      return false
    },
  })
  // PGlite catches the exception of an abort and would go on with broken shared memory.
  Object.assign(pg.Module, { onAbort: () => fail(lastPanic) })
  return pg
}

/** Checkpoints and lets the thread end. */
async function finish(pg: PGlite): Promise<void> {
  await pg.close()
  send({ kind: 'done' })
  port?.close()
}

/**
 * Ends the thread before another statement runs; in a worker `process.exit` ends only the thread.
 */
function fail(reason: string): never {
  send({ kind: 'failed', reason })
  process.exit(1)
}

function send(reply: Reply): void {
  port?.postMessage(reply)
}

function serve(host: Host): void {
  port?.on('message', async (request: Request) => {
    if (request === 'close') return host.close()
    try {
      send({ kind: 'value', id: request.id, value: await host.run(request.call) })
    } catch (error) {
      send({ kind: 'error', id: request.id, error: describeError(error) })
    }
  })
  host.keepLogShort().catch((error) => fail(`the checkpoint failed: ${error}`))
  send({ kind: 'ready' })
}

/** Runs calls on PGlite, whose mutex makes other calls wait while a transaction is open. */
class Host {
  readonly #pg: PGlite
  readonly #transactions = new Map<number, OpenTransaction>()
  #callsSinceCheck = 0
  #isClosing = false

  constructor(pg: PGlite) {
    this.#pg = pg
  }

  async run(call: Call): Promise<unknown> {
    this.#callsSinceCheck += 1
    switch (call.kind) {
      case 'query': {
        const { sql, params, rowMode, textTypes } = call
        const parsers = Object.fromEntries(textTypes.map((type) => [type, (text: string) => text]))
        return this.#runner(call.tx).query(sql, params, { rowMode, parsers })
      }
      case 'exec':
        return this.#runner(call.tx).exec(call.sql)
      case 'begin':
        return this.#begin(call.tx)
      case 'commit': {
        const { commit, done } = this.#find(call.tx)
        commit()
        return done
      }
      case 'rollback': {
        const { rollback, done } = this.#find(call.tx)
        rollback(ROLLED_BACK)
        return done.catch((reason) => {
          if (reason !== ROLLED_BACK) throw reason
        })
      }
    }
  }

  /**
   * Checkpoints whenever the write-ahead log has grown by `CHECKPOINT_WAL_BYTES`. PGlite has no
   * background checkpointer: the log would grow until the end of the process, and a start after a
   * kill would replay all of it. Ends when the database is closing.
   */
  async keepLogShort(): Promise<void> {
    for (;;) {
      await setTimeout(CHECKPOINT_CHECK_MS, undefined, { ref: false })
      if (this.#isClosing) return
      if (this.#callsSinceCheck === 0) continue
      this.#callsSinceCheck = 0
      const { rows } = await this.#pg.query<{ bytes: number }>(
        `select (pg_current_wal_insert_lsn() - redo_lsn)::float8 as bytes
         from pg_control_checkpoint()`,
      )
      if (this.#isClosing) return
      if (Number(rows[0]?.bytes) > CHECKPOINT_WAL_BYTES) await this.#pg.exec('checkpoint')
    }
  }

  /** Rolls back open transactions, waits for queued calls, checkpoints, and ends the thread. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const { rollback } of this.#transactions.values()) rollback(CLOSING)
    await finish(this.#pg)
  }

  /** Resolves when the transaction has begun; it stays open until `commit` or `rollback`. */
  #begin(id: number): Promise<void> {
    const { promise, resolve: begun, reject: refused } = Promise.withResolvers<void>()
    const done = this.#pg.transaction((tx) => {
      const end = Promise.withResolvers<void>()
      if (this.#isClosing) return Promise.reject(CLOSING)
      this.#transactions.set(id, { tx, commit: end.resolve, rollback: end.reject, done })
      begun()
      return end.promise
    })
    done.catch(refused).finally(() => this.#transactions.delete(id))
    return promise
  }

  #runner(id: number | null): Pick<Transaction, 'query' | 'exec'> {
    return id === null ? this.#pg : this.#find(id).tx
  }

  #find(id: number): OpenTransaction {
    const found = this.#transactions.get(id)
    if (found === undefined) throw new Error('Transaction is closed')
    return found
  }
}

/** Leaves out the statement and its parameters: the caller has them, and a log must not. */
function describeError(error: unknown): ErrorRecord {
  if (!(error instanceof Error))
    return { message: String(error), isDatabaseError: false, fields: {} }
  const fields = Object.entries(error).filter(
    ([name, value]) => name !== 'query' && (typeof value === 'string' || typeof value === 'number'),
  )
  return {
    message: error.message,
    isDatabaseError: error instanceof messages.DatabaseError,
    fields: Object.fromEntries([['name', error.name], ...fields]),
  }
}
