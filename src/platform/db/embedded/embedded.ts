import { readFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { messages } from '@electric-sql/pglite'
import { QUICK_START } from '../../quick-start-argv.ts'
import { ensureDatabaseDirectory } from './embedded-init.ts'
import type { Call, ErrorRecord, Reply, Request, WorkerTask } from './embedded-worker.ts'

const WORKER = new URL('./embedded-worker.ts', import.meta.url)
// With Node's 4 MB a deeply nested statement overruns V8's stack, and PGlite does not notice. With
// 16 MB the statement meets PostgreSQL's own limit first, and fails with error 54001.
const STACK_MB = 16
/** Young objects of its thread. */
const YOUNG_MB = 96
const CLOSE_TIMEOUT_MS = 5_000

interface EmbeddedQueryOptions {
  /** Default `object`. */
  readonly rowMode?: 'array' | 'object'
  /**
   * Values of the types with these keys arrive as PostgreSQL's text. Only the keys count: a
   * function can't be sent to the thread, and drizzle passes only the identity.
   */
  readonly parsers?: Readonly<Record<number, (text: string) => unknown>>
}

interface EmbeddedResult<Row = Record<string, unknown>> {
  readonly rows: Row[]
  readonly fields: { name: string; dataTypeID: number }[]
  readonly affectedRows?: number
  readonly rowCount?: number
  readonly command?: string
}

interface EmbeddedTransaction {
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
   * Commits when `work` resolves, rolls back when it rejects, and passes on its outcome. All other
   * calls wait meanwhile: inside `work`, a call on the client itself would never settle.
   */
  transaction<T>(work: (tx: EmbeddedTransaction) => Promise<T>): Promise<T>
  /**
   * Rejects open calls with `EmbeddedClosedError`, rolls back open transactions, checkpoints, and
   * ends the thread. After 5 s the thread is terminated, which is like a kill. Further calls wait
   * for the same end.
   */
  close(): Promise<void>
}

interface EmbeddedOptions {
  /** Directory of the database alone, inside one that the caller has locked. */
  readonly directory: string
  /** Called once, if the database dies after it was opened; it does not restart by itself. */
  readonly onCrash: (error: EmbeddedClosedError) => void
}

/**
 * The embedded database is closed or has died; a call that was open may or may not have been
 * carried out.
 */
export class EmbeddedClosedError extends Error {
  /** The code that the driver of a PostgreSQL server gives. */
  readonly code = 'CONNECTION_CLOSED'

  constructor(message: string) {
    super(message)
    this.name = 'EmbeddedClosedError'
  }
}

/**
 * Opens the embedded PostgreSQL in `directory`, making it at the first start.
 *
 * PGlite runs in a thread of its own, so that no query blocks this one. The client has the methods
 * that `drizzle-orm/pglite` and its migrator call, and no others. Values are copied between
 * threads: dates, bigints, byte arrays, nulls and arrays keep their types; a parameter that can't
 * be copied, such as a function, rejects its call. PostgreSQL's errors arrive as PGlite's
 * `DatabaseError`.
 *
 * A confirmed commit survives the death of the process, SIGKILL included, because the operating
 * system has its write-ahead log by then. The log is not synced to the disk: a power loss or a
 * crash of the operating system may cost the last commits, or the database. Data that must survive
 * these has to be stored elsewhere too.
 *
 * Memory on top of the process: 430 MB during the 2 s of the first start, 130 MB from the second.
 *
 * @throws EmbeddedClosedError if the database can't be opened, with PostgreSQL's reason
 * @throws Error if `directory` holds something else than a database, or can't be made
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedClient> {
  const postgres = await postgresModule()
  await ensureDatabaseDirectory(options.directory, (directory) => initialise(directory, postgres))
  const client = new WorkerClient(options, postgres)
  await client.ready
  return client
}

/**
 * Makes the database in a thread of its own, which gives most of its memory back when it ends. A
 * child process would give back all of it, but it could outlive a kill of this process, and Ctrl-C
 * would interrupt it.
 */
async function initialise(directory: string, postgres: WebAssembly.Module): Promise<void> {
  const failure = await awaitEnd(startWorker({ task: 'initialise', directory, postgres }))
  if (failure !== null) {
    throw new EmbeddedClosedError(`The embedded database can't be made: ${failure}`)
  }
}

function startWorker(workerData: WorkerTask): Worker {
  // Some options of this process, such as `--input-type`, would stop the thread.
  return new Worker(WORKER, {
    workerData,
    execArgv: [...QUICK_START],
    resourceLimits: { stackSizeMb: STACK_MB, maxYoungGenerationSizeMb: YOUNG_MB },
  })
}

/**
 * Resolves when the thread has ended: with `null` if it had reported that its task is done, else
 * the reason.
 */
function awaitEnd(worker: Worker): Promise<string | null> {
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
 * States: *opening*, until `ready` settles; *open*, while calls are taken; *ended*, by `close` or
 * by a crash: calls are then rejected with `#refusal`. A crash while opening only rejects `ready`.
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

  constructor({ directory, onCrash }: EmbeddedOptions, postgres: WebAssembly.Module) {
    const ready = Promise.withResolvers<void>()
    let report: (error: EmbeddedClosedError) => void = ready.reject
    this.ready = ready.promise
    this.#worker = startWorker({ task: 'serve', directory, postgres })
    this.#worker.on('message', (reply: Reply) => {
      if (reply.kind === 'ready') {
        report = onCrash
        ready.resolve()
      } else if ('id' in reply) this.#settle(reply)
    })
    this.#ended = awaitEnd(this.#worker).then((failure) => {
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
      // If the rollback fails too, the failure of the work is the one to report.
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
    const reply = Promise.withResolvers<unknown>()
    this.#openCalls.set(id, reply)
    return reply.promise
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

/** Runs statements in one transaction, or, with `null`, outside of any. */
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
    const result = this.#call({ kind: 'query', sql, params, rowMode, textTypes, tx: this.#tx })
    // The caller knows the columns of its statement.
    return result as Promise<EmbeddedResult<Row>>
  }

  exec(sql: string) {
    // PGlite returns one result for each statement.
    return this.#call({ kind: 'exec', sql, tx: this.#tx }) as Promise<EmbeddedResult[]>
  }
}

function restoreError({ message, isDatabaseError, fields }: ErrorRecord): Error {
  const error = isDatabaseError
    ? new messages.DatabaseError(message, message.length, 'error')
    : new Error(message)
  return Object.assign(error, fields)
}

// Some hundred queries after each start, V8's optimizing compiler takes 600 MB for one function of
// PGlite, the SQL parser. Without that compiler a query takes 10 to 50 percent longer, and the
// process takes a quarter of the memory. The flags apply to all WebAssembly of the process.
const V8_FLAGS = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']

let compiled: Promise<WebAssembly.Module> | null = null

/**
 * PostgreSQL as PGlite has it. Threads that get this module share what V8 compiles of it: the
 * second one of a process opens its database in half of the time.
 *
 * @throws Error if the file of the package can't be read
 */
function postgresModule(): Promise<WebAssembly.Module> {
  compiled ??= compile().catch((error: unknown) => {
    compiled = null
    throw error
  })
  return compiled
}

async function compile(): Promise<WebAssembly.Module> {
  const program = new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'))
  for (const flag of V8_FLAGS) setFlagsFromString(flag)
  return WebAssembly.compile(await readFile(program))
}
