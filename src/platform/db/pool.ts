import { backOffMs } from '../back-off.ts'
import {
  Connection,
  type ConnectionOptions,
  checkParameters,
  type Rows,
  type Statement,
} from './connection.ts'
import { ConnectionError, isServerGone } from './errors.ts'
import { DATABASE_DEADLINE_MS } from './guard.ts'

/** Further callers are refused at once: more could not be answered within their deadline. */
const WAITERS_MAX = 20_000
/** Between attempts to connect, after the first failed ones less. */
const PAUSES = { minMs: 10, maxMs: 500 }
const RENEWAL_PAUSE_MS = 1_000
/**
 * All callers have their results by then. A silent server must not delay the end of the process.
 */
const CLOSE_TIMEOUT_SEC = 1

interface Sent extends Promise<Rows> {
  /** Has the rows come as lists of values. */
  values(): Promise<Rows>
}

/** The connection on which a transaction runs statements. */
interface Scope extends Pick<Client, 'unsafe'> {
  /** A transaction inside is a part of the one around it: both end alike. */
  savepoint<T>(work: (scope: Scope) => Promise<T>): Promise<T>
}

/** The members of the driver that drizzle uses. */
export interface Client {
  /** Drizzle notes here how it wants values, see `TYPES` of connections. */
  readonly options: { readonly parsers: object; readonly serializers: object }
  unsafe(text: string, parameters?: readonly unknown[]): Sent
  begin<T>(work: (scope: Scope) => Promise<T>): Promise<T>
}

interface Waiter {
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/**
 * Connections that callers share, each of which has one for a statement or a transaction. Callers
 * wait in turn, for `DATABASE_DEADLINE_MS` at most, `WAITERS_MAX` of them. If no connection can be
 * had, all who wait are told so at once.
 */
export class Pool implements Client {
  readonly options = { parsers: {}, serializers: {} }
  private readonly max: number
  private readonly connectionOptions: ConnectionOptions
  /** Connections that take new calls. */
  private readonly connections = new Set<Connection>()
  private readonly opening = new Set<Connection>()
  private idle: Connection[] = []
  /** Connections that were renewed while they served a caller. */
  private readonly retired = new Set<Connection>()
  private readonly waiters = new Set<Waiter>()
  private failures = 0
  private pause: NodeJS.Timeout | null = null
  private renewedAtMs = Number.NEGATIVE_INFINITY
  private isClosed = false

  constructor(options: ConnectionOptions, connectionsMax: number) {
    this.connectionOptions = options
    this.max = connectionsMax
  }

  unsafe(text: string, parameters: readonly unknown[] = []): Sent {
    return sending({ text, parameters }, (statement) =>
      this.lending((connection) => connection.send(statement, DATABASE_DEADLINE_MS)),
    )
  }

  begin<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    return this.lending((connection) => transact(connection, work, DATABASE_DEADLINE_MS))
  }

  /** Runs `work` on a connection that nobody has used, which takes the place of another one. */
  async afresh<T>(work: (client: Client) => Promise<T>): Promise<T> {
    this.drop(await this.take())
    const connection = new Connection(this.connectionOptions)
    this.connections.add(connection)
    try {
      await connection.open()
      return await work(clientOn(connection, DATABASE_DEADLINE_MS))
    } finally {
      this.giveBack(connection)
    }
  }

  /**
   * New calls go to new connections from now on: the old ones may be silently dead, their server be
   * no primary any more, or their answers be wrong, see `DatabaseHandle.renew`.
   */
  renew(isCertain = false): void {
    const nowMs = performance.now()
    if (!isCertain && nowMs - this.renewedAtMs < RENEWAL_PAUSE_MS) return
    this.renewedAtMs = nowMs
    for (const connection of this.connections) {
      if (this.idle.includes(connection) || this.opening.has(connection)) void connection.end()
      else this.retired.add(connection)
    }
    this.connections.clear()
    this.opening.clear()
    this.idle = []
    this.grow()
  }

  async close(): Promise<void> {
    this.isClosed = true
    if (this.pause !== null) clearTimeout(this.pause)
    this.refuseAll(new ConnectionError('CONNECTION_ENDED'))
    const all = [...this.connections, ...this.retired]
    this.connections.clear()
    await Promise.all(all.map((connection) => connection.end(CLOSE_TIMEOUT_SEC)))
  }

  private async lending<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.take()
    try {
      return await work(connection)
    } catch (error) {
      if (isServerGone(error) && this.connections.has(connection)) this.renew()
      throw error
    } finally {
      this.giveBack(connection)
    }
  }

  private take(): Promise<Connection> {
    for (let free = this.idle.shift(); free !== undefined; free = this.idle.shift()) {
      if (free.isFit) return Promise.resolve(free)
      this.drop(free)
    }
    if (this.isClosed) throw new ConnectionError('CONNECTION_ENDED')
    if (this.waiters.size >= WAITERS_MAX) throw new ConnectionError('CONNECTIONS_BUSY')
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.waiters.delete(waiter)
        reject(new ConnectionError('CONNECTIONS_BUSY'))
      }
      const waiter = { resolve, reject, timer: setTimeout(giveUp, DATABASE_DEADLINE_MS) }
      this.waiters.add(waiter)
      this.grow()
    })
  }

  private giveBack(connection: Connection): void {
    const [waiter] = this.waiters
    if (!this.connections.has(connection) || !connection.isFit) {
      this.drop(connection)
      this.grow()
    } else if (waiter === undefined) {
      this.idle.push(connection)
    } else {
      this.waiters.delete(waiter)
      clearTimeout(waiter.timer)
      waiter.resolve(connection)
    }
  }

  private drop(connection: Connection): void {
    this.connections.delete(connection)
    this.retired.delete(connection)
    void connection.end()
  }

  /** Opens as many connections as callers wait for; one at a time after a failure. */
  private grow(): void {
    const openingMax = Math.min(this.waiters.size, this.failures === 0 ? this.max : 1)
    while (
      this.pause === null &&
      this.opening.size < openingMax &&
      this.connections.size < this.max
    ) {
      void this.add()
    }
  }

  private async add(): Promise<void> {
    const connection = new Connection(this.connectionOptions)
    this.connections.add(connection)
    this.opening.add(connection)
    try {
      await connection.open()
      this.opening.delete(connection)
      this.failures = 0
      this.giveBack(connection)
    } catch (error) {
      void connection.end()
      this.opening.delete(connection)
      // It was renewed or closed meanwhile.
      if (!this.connections.delete(connection)) return
      this.rest()
      if (this.connections.size === 0) this.refuseAll(error)
    }
  }

  /** Waits before the next attempt to connect. */
  private rest(): void {
    const pauseMs = backOffMs(PAUSES, this.failures++)
    if (this.pause !== null) clearTimeout(this.pause)
    this.pause = setTimeout(() => {
      this.pause = null
      this.grow()
    }, pauseMs)
  }

  private refuseAll(error: unknown): void {
    for (const { reject, timer } of this.waiters) {
      clearTimeout(timer)
      reject(error as Error)
    }
    this.waiters.clear()
  }
}

/** A client for one connection, whose caller sends one statement after the other. */
export function clientOn(connection: Connection, answerMs: number | null): Client {
  return {
    options: { parsers: {}, serializers: {} },
    unsafe: (text, parameters = []) =>
      sending({ text, parameters }, (statement) => connection.send(statement, answerMs)),
    begin: (work) => transact(connection, work, answerMs),
  }
}

/** Waits for the rest of this turn, in which drizzle says how the rows shall come. */
function sending(statement: Statement, send: (statement: Statement) => Promise<Rows>): Sent {
  let asLists = false
  const rows = Promise.resolve().then(() => {
    checkParameters(statement.parameters ?? [])
    return send({ ...statement, asLists })
  })
  const values = () => {
    asLists = true
    return rows
  }
  return Object.assign(rows, { values })
}

/** Runs `inner` in a transaction within another one: what it did is undone alone if it throws. */
async function transactWithin<T>(
  scope: Scope,
  state: { readonly faults: unknown[] },
  inner: (scope: Scope) => Promise<T>,
): Promise<T> {
  const earlier = state.faults.length
  await scope.unsafe('savepoint inner_work')
  try {
    const result = await inner(scope)
    await scope.unsafe('release savepoint inner_work')
    return result
  } catch (error) {
    await scope.unsafe('rollback to savepoint inner_work')
    state.faults.length = earlier
    throw error
  }
}

/**
 * Runs `work` in a transaction. It rejects if one of its statements failed, whatever `work` makes
 * of that, and as soon as the connection is lost. What `work` sends afterwards is refused.
 */
async function transact<T>(
  connection: Connection,
  work: (scope: Scope) => Promise<T>,
  answerMs: number | null,
): Promise<T> {
  const state = { isOver: false, faults: [] as unknown[] }
  const send = async (statement: Statement) => {
    if (state.isOver) throw new ConnectionError('TRANSACTION_OVER')
    try {
      return await connection.send(statement, answerMs)
    } catch (error) {
      state.faults.push(error)
      throw error
    }
  }
  await connection.send({ text: 'begin' }, answerMs)
  try {
    const scope: Scope = {
      unsafe: (text, parameters = []) => sending({ text, parameters }, send),
      savepoint: (inner) => transactWithin(scope, state, inner),
    }
    const result = await connection.unlessLost(work(scope))
    state.isOver = true
    if (state.faults.length > 0) throw state.faults[0]
    const { command } = await connection.send({ text: 'commit' }, answerMs)
    if (command !== 'COMMIT') throw state.faults[0] ?? new Error('the server rolled back')
    return result
  } catch (error) {
    state.isOver = true
    // The locks are free when the caller hears of the failure.
    if (connection.isOpen) await connection.send({ text: 'rollback' }, answerMs).catch(() => {})
    throw error
  }
}
