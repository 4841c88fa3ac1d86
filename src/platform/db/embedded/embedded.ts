import { Worker } from 'node:worker_threads'
import { messages } from '@electric-sql/pglite'
import { ensureDatabaseDirectory } from './embedded-init.ts'
import type { Call, ErrorRecord, Reply, Request, WorkerTask } from './embedded-worker.ts'

const WORKER = new URL('./embedded-worker.ts', import.meta.url)
// With Node's 4 MB a deeply nested statement overran V8's stack, which PGlite does not notice; with
// 16 MB PostgreSQL's own limit is met first, and answers with its error 54001.
const STACK_MB = 16
const CLOSE_TIMEOUT_MS = 5_000

export interface EmbeddedQueryOptions {
  /** Default `object`. */
  readonly rowMode?: 'array' | 'object'
  /**
   * Values of the types named by these keys arrive as PostgreSQL's text. Only the keys count: a
   * function can't enter the thread, and drizzle passes none but the identity.
   */
  readonly parsers?: Readonly<Record<number, (text: string) => unknown>>
}

export interface EmbeddedResult<Row = Record<string, unknown>> {
  readonly rows: Row[]
  readonly fields: { name: string; dataTypeID: number }[]
  readonly affectedRows?: number
  readonly rowCount?: number
  readonly command?: string
}

export interface EmbeddedTransaction {
  /** Runs one statement with parameters `$1`, `$2` and so on. */
  query<Row = Record<string, unknown>>(
    sql: string,
    params?: unknown[],
    options?: EmbeddedQueryOptions,
  ): Promise<EmbeddedResult<Row>>
  /** Runs any number of statements without parameters. */
  exec(sql: string): Promise<EmbeddedResult[]>
}

export interface EmbeddedClient extends EmbeddedTransaction {
  /**
   * Commits what `work` did when it resolves, rolls back when it rejects, and passes on its outcome.
   * Everything outside `work` waits meanwhile: a call on the client inside of it would never answer.
   */
  transaction<T>(work: (tx: EmbeddedTransaction) => Promise<T>): Promise<T>
  /**
   * Rejects open calls with `EmbeddedClosedError`, rolls back open transactions, checkpoints, and
   * ends the thread. What takes longer than 5 s is cut off, as by a kill. Repeatable.
   */
  close(): Promise<void>
}

interface EmbeddedOptions {
  /** Of the database alone, inside a directory that the caller has locked. */
  readonly directory: string
  /** Called once, if the database dies after it was opened; it does not come back by itself. */
  readonly onCrash: (error: EmbeddedClosedError) => void
}

/** The embedded database is closed or has died; a call that was open may or may not have happened. */
export class EmbeddedClosedError extends Error {
  /** As the driver of a PostgreSQL server says it. */
  readonly code = 'CONNECTION_CLOSED'

  constructor(message: string) {
    super(message)
    this.name = 'EmbeddedClosedError'
  }
}

/**
 * Opens the embedded PostgreSQL in `directory`, making it at the first start.
 *
 * PGlite runs in a thread of its own, so that no query stops this one. The client has what
 * `drizzle-orm/pglite` and its migrator call, and nothing more. Values cross the thread as copies:
 * dates, bigints, byte arrays, nulls and arrays arrive as what they were, a parameter that can't be
 * copied (a function, say) rejects its call. PostgreSQL's errors arrive as PGlite's `DatabaseError`.
 *
 * A commit that was answered survives the death of the process, SIGKILL included: the log is then
 * in the operating system's hands. It is not synced to the disk, so a power loss or a crash of the
 * operating system may cost the last commits, or the database; what must survive these has to be
 * kept elsewhere as well.
 *
 * Memory on top of the process: 430 MB during the 2 s of the first start, 130 MB from the second.
 *
 * @throws EmbeddedClosedError if the database can't be opened, with PostgreSQL's reason
 * @throws Error if `directory` holds something else than a database, or can't be made
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedClient> {
  await ensureDatabaseDirectory(options.directory, initialise)
  const client = new WorkerClient(options)
  await client.ready
  return client
}

/**
 * In a thread of its own, which gives most of its memory back when it ends. A child process would
 * give back all, but could outlive a kill of this one, and would be interrupted by Ctrl-C.
 */
async function initialise(directory: string): Promise<void> {
  const failure = await endOf(startWorker({ task: 'initialise', directory }))
  if (failure !== null) {
    throw new EmbeddedClosedError(`The embedded database can't be made: ${failure}`)
  }
}

function startWorker(workerData: WorkerTask): Worker {
  // Of the options of this process some, such as `--input-type`, would stop the thread.
  return new Worker(WORKER, { workerData, execArgv: [], resourceLimits: { stackSizeMb: STACK_MB } })
}

/** Resolves when the thread has ended: with `null` after it said that its task is done. */
function endOf(worker: Worker): Promise<string | null> {
  let failure: string | null = 'its thread ended'
  worker.on('message', (reply: Reply) => {
    if (reply.kind === 'done') failure = null
    if (reply.kind === 'failed') failure = reply.reason
  })
  worker.on('error', (error) => {
    failure = error instanceof Error ? error.message : String(error)
  })
  return new Promise((resolve) => {
    worker.on('exit', () => resolve(failure))
  })
}

/**
 * States: opening, until `ready` settles; open, when calls are taken; ended, by `close` or by a
 * crash, when `#refusal` says why calls are refused. A crash while opening only rejects `ready`.
 */
class WorkerClient implements EmbeddedClient {
  readonly ready: Promise<void>
  readonly #worker: Worker
  readonly #ended: Promise<string | null>
  readonly #openCalls = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #statements = new Statements((call) => this.#call(call), null)
  #lastId = 0
  #refusal: EmbeddedClosedError | null = null
  #closing: Promise<void> | null = null

  constructor({ directory, onCrash }: EmbeddedOptions) {
    const ready = Promise.withResolvers<void>()
    let report: (error: EmbeddedClosedError) => void = ready.reject
    this.ready = ready.promise
    this.#worker = startWorker({ task: 'serve', directory })
    this.#worker.on('message', (reply: Reply) => {
      if (reply.kind === 'ready') {
        report = onCrash
        ready.resolve()
      } else if ('id' in reply) this.#settle(reply)
    })
    this.#ended = endOf(this.#worker).then((failure) => {
      if (this.#refusal === null) {
        const error = new EmbeddedClosedError(`The embedded database has died: ${failure}`)
        this.#refuse(error)
        report(error)
      }
      return failure
    })
  }

  query<Row>(sql: string, params?: unknown[], options?: EmbeddedQueryOptions) {
    return this.#statements.query<Row>(sql, params, options)
  }

  exec(sql: string) {
    return this.#statements.exec(sql)
  }

  async transaction<T>(work: (tx: EmbeddedTransaction) => Promise<T>): Promise<T> {
    const tx = ++this.#lastId
    await this.#call({ kind: 'begin', tx })
    let result: T
    try {
      result = await work(new Statements((call) => this.#call(call), tx))
    } catch (error) {
      // Why the work failed says more than why the rollback did, if that fails too.
      await Promise.allSettled([this.#call({ kind: 'rollback', tx })])
      throw error
    }
    await this.#call({ kind: 'commit', tx })
    return result
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    if (this.#refusal !== null) return
    this.#refuse(new EmbeddedClosedError('The embedded database is closed.'))
    this.#post('close')
    let isCutOff = false
    const deadline = setTimeout(() => {
      isCutOff = true
      return this.#worker.terminate()
    }, CLOSE_TIMEOUT_MS)
    const failure = await this.#ended
    clearTimeout(deadline)
    if (failure !== null && !isCutOff) {
      throw new EmbeddedClosedError(`The embedded database failed to close: ${failure}`)
    }
  }

  async #call(call: Call): Promise<unknown> {
    if (this.#refusal !== null) throw this.#refusal
    const id = ++this.#lastId
    this.#post({ id, call })
    const answer = Promise.withResolvers<unknown>()
    this.#openCalls.set(id, answer)
    return answer.promise
  }

  #post(request: Request): void {
    this.#worker.postMessage(request)
  }

  #settle(reply: Extract<Reply, { id: number }>): void {
    const call = this.#openCalls.get(reply.id)
    this.#openCalls.delete(reply.id)
    if (reply.kind === 'value') call?.resolve(reply.value)
    else call?.reject(restoreError(reply.error))
  }

  #refuse(error: EmbeddedClosedError): void {
    this.#refusal = error
    for (const call of this.#openCalls.values()) call.reject(error)
    this.#openCalls.clear()
  }
}

/** Statements of one transaction, or, with `null`, outside of any. */
class Statements implements EmbeddedTransaction {
  readonly #call: (call: Call) => Promise<unknown>
  readonly #tx: number | null

  constructor(call: (call: Call) => Promise<unknown>, tx: number | null) {
    this.#call = call
    this.#tx = tx
  }

  query<Row>(
    sql: string,
    params: unknown[] = [],
    { rowMode = 'object', parsers = {} }: EmbeddedQueryOptions = {},
  ) {
    const textTypes = Object.keys(parsers)
    const answer = this.#call({ kind: 'query', sql, params, rowMode, textTypes, tx: this.#tx })
    // The caller knows what its statement answers.
    return answer as Promise<EmbeddedResult<Row>>
  }

  exec(sql: string) {
    // PGlite answers `exec` with one result for each statement.
    return this.#call({ kind: 'exec', sql, tx: this.#tx }) as Promise<EmbeddedResult[]>
  }
}

function restoreError({ message, isDatabaseError, fields }: ErrorRecord): Error {
  const error = isDatabaseError
    ? new messages.DatabaseError(message, message.length, 'error')
    : new Error(message)
  return Object.assign(error, fields)
}
