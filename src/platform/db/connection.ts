import { once } from 'node:events'
import { isIP, Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls'
import postgres, { type RowList, type Sql } from 'postgres'
import type { ServerAddress } from '../server-list.ts'
import { ForeignRowError } from './asked-rows.ts'
import { ConnectionError, StandbyError, UnsupportedServerError } from './errors.ts'

/** One statement; `parameters` belong to its `$1`, `$2` and so on. */
export interface Statement {
  readonly text: string
  readonly parameters?: readonly unknown[]
  /** True if rows come as lists of values, in place of objects. */
  readonly asLists?: boolean
}

export type Rows = RowList<postgres.Row[]>

export interface ConnectionOptions {
  readonly url: string
  /** The server of the connection; without it that of the URL. */
  readonly findServer?: () => Promise<ServerAddress>
  /** Settings of the session beside `SESSION_SETTINGS`. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The part of the URL on TLS. */
interface TlsOptions {
  readonly ssl: unknown
  readonly sslnegotiation?: unknown
}

/** Time in which a server has to connect, admit the user and answer the first statement. */
const OPEN_TIMEOUT_MS = 5_000
/** A server that hears of the end closes the connection; a silent one must not keep the socket. */
const CLOSE_MS = 1_000
/** The driver counts from here on what it can't write. */
const PARAMETERS_END = 65_534
/** Asks whether the server takes TLS: the length of the message, and its code. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const TAKES_TLS = 'S'.charCodeAt(0)
/** Modes of TLS in which a certificate is not looked at. */
const UNCHECKED: readonly unknown[] = ['require', 'allow', 'prefer']
const asIs = (value: string) => value
/** By PostgreSQL's numbers: drizzle converts times itself, and writes JSON as text. */
const TYPES = {
  times: {
    to: 1184,
    from: [1082, 1083, 1114, 1115, 1182, 1184, 1185, 1231],
    parse: asIs,
    serialize: asIs,
  },
  json: { to: 114, from: [114, 3802], parse: JSON.parse, serialize: asIs },
}
const LIFETIME_MS = { min: 30 * 60_000, max: 60 * 60_000 }

/**
 * One session of PostgreSQL, over one client of the driver that has one connection and never gets
 * another. postgres.js 3.4.9 gives wrong answers where it writes statements behind each other,
 * repeats a named one, or uses a connection again after an error or a loss. So here each statement
 * waits for the one before it, none has a name, and after any error the connection is not fit for
 * another caller.
 */
export class Connection {
  private readonly client: Sql
  private readonly socket = hearErrors(new Socket())
  private readonly options: ConnectionOptions
  private readonly tls: TlsOptions
  private host = ''
  private readonly endsAtMs =
    performance.now() + LIFETIME_MS.min + Math.random() * (LIFETIME_MS.max - LIFETIME_MS.min)
  private previous: Promise<unknown> = Promise.resolve()
  private isConnected = false
  private isReady = false
  private hasFailed = false
  /** Why nothing can be sent any more. */
  private loss: Error | null = null
  private onLoss: (loss: Error) => void = () => {}

  constructor(options: ConnectionOptions) {
    this.options = options
    const { url, settings } = options
    const { ssl, sslnegotiation } = postgres(url).options as TlsOptions
    this.tls = { ssl, sslnegotiation }
    const driverOptions = {
      max: 1,
      fetch_types: false,
      types: TYPES,
      connect_timeout: 0,
      idle_timeout: 0,
      max_lifetime: null,
      onnotice: () => {},
      onclose: () => this.lose(new ConnectionError('CONNECTION_CLOSED')),
      connection: { application_name: 'scoreline', ...SESSION_SETTINGS, ...settings },
      // The connection begins TLS itself: the driver stops to hear errors of TLS too early.
      ssl: false,
      // The types of the driver do not know this option.
      socket: () => this.connect(),
    }
    this.client = postgres(url, driverOptions)
  }

  /** True if it may serve another caller. */
  get isFit(): boolean {
    const isSound = this.isReady && !this.hasFailed && this.loss === null
    return isSound && performance.now() < this.endsAtMs
  }

  /** True if a statement can be sent, though the one before it may have failed. */
  get isOpen(): boolean {
    return this.loss === null
  }

  /**
   * @throws ConnectionError, UnsupportedServerError, StandbyError where the server was chosen among
   *   several, or what the server says
   */
  async open(timeoutMs = OPEN_TIMEOUT_MS): Promise<SessionFacts> {
    const [facts] = await this.send({ text: ASK_SESSION }, timeoutMs)
    checkSession(facts ?? {})
    const isChosen = this.options.findServer !== undefined
    if (isChosen && facts?.['is_standby'] === true) throw new StandbyError()
    this.isReady = true
    return facts ?? {}
  }

  /**
   * Sends a statement after all others have been answered.
   *
   * @param answerMs without an answer after this time the connection is given up; null: never
   */
  send(statement: Statement, answerMs: number | null): Promise<Rows> {
    const sent = this.previous.then(() => this.answerTo(statement, answerMs))
    this.previous = sent.catch(() => undefined)
    return sent
  }

  private async answerTo(statement: Statement, answerMs: number | null): Promise<Rows> {
    if (this.loss !== null) throw this.loss
    const { text, parameters = [], asLists = false } = statement
    const giveUp = () => this.lose(new ConnectionError('CONNECT_TIMEOUT'))
    const late = answerMs === null ? undefined : setTimeout(giveUp, answerMs)
    try {
      const sent = this.client.unsafe(text, parameters as never[])
      const rows = await (asLists ? (sent.values() as unknown as Promise<Rows>) : sent)
      checkCount(rows)
      return rows
    } catch (error) {
      this.hasFailed = true
      const loss = this.loss
      if (!(error instanceof postgres.PostgresError)) void this.end()
      throw loss ?? error
    } finally {
      clearTimeout(late)
    }
  }

  /** Settles as `work` does, or rejects when the connection is lost meanwhile. */
  async unlessLost<T>(work: Promise<T>): Promise<T> {
    const lost = Promise.withResolvers<never>()
    this.onLoss = lost.reject
    if (this.loss !== null) lost.reject(this.loss)
    return Promise.race([work, lost.promise])
  }

  /** @param timeoutSec how long a statement that is under way may take */
  async end(timeoutSec = 0): Promise<void> {
    this.loss ??= new ConnectionError('CONNECTION_ENDED')
    if (!this.isReady) this.socket.destroy(this.loss)
    const closeMs = 1000 * timeoutSec + CLOSE_MS
    setTimeout(() => this.socket.destroy(), closeMs).unref()
    await this.client.end({ timeout: timeoutSec })
  }

  private lose(loss: Error): void {
    this.loss ??= loss
    this.socket.destroy(this.loss)
    this.onLoss(this.loss)
    void this.end()
  }

  /** The driver calls it again if a connection ends before it is ready. */
  private async connect(): Promise<Socket> {
    if (this.isConnected) throw this.loss ?? new ConnectionError('CONNECTION_CLOSED')
    this.isConnected = true
    const { path, host, port } = this.client.options
    const server = (await this.options.findServer?.()) ?? { host: host[0], port: port[0] }
    if (this.loss !== null) throw this.loss
    this.host = server.host ?? ''
    this.socket.connect(path ? { path } : { host: this.host, port: Number(server.port) })
    await this.until(this.socket, 'connect')
    return this.tls.ssl === false ? this.socket : this.secure()
  }

  /** Begins TLS as the driver does. */
  private async secure(): Promise<Socket> {
    const { socket, host } = this
    const { ssl, sslnegotiation } = this.tls
    if (sslnegotiation !== 'direct') {
      socket.write(SSL_REQUEST)
      const [answer] = (await this.until(socket, 'data')) as [Buffer]
      if (answer[0] !== TAKES_TLS) {
        if (ssl === 'prefer') return socket
        throw new ConnectionError('NO_TLS')
      }
    }
    const secured = connectTls({
      socket,
      ...(isIP(host) === 0 && { servername: host }),
      ...(sslnegotiation === 'direct' && { ALPNProtocols: ['postgresql'] }),
      rejectUnauthorized: !UNCHECKED.includes(ssl),
      // Told no name, as for an address, Node would compare with `localhost`.
      checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
    })
    await this.until(hearErrors(secured), 'secureConnect')
    return secured
  }

  /** @throws the error of the socket, or ConnectionError if it ends before */
  private until(socket: Socket | TLSSocket, event: string): Promise<unknown[]> {
    const closed = Promise.withResolvers<never>()
    socket.once('close', () => closed.reject(this.loss ?? new ConnectionError('CONNECTION_CLOSED')))
    return Promise.race([once(socket, event), closed.promise])
  }
}

/** @throws ForeignRowError unless the rows are as many as the server says, and have no gaps */
function checkCount(rows: Rows): void {
  // Several statements in one text have several results.
  if (!Number.isInteger(rows.count) || rows.length === 0) return
  if (rows.length !== rows.count || !(0 in rows)) throw new ForeignRowError('rows of another one')
}

/** Throws where the driver would answer other statements with its own error. */
export function checkParameters(parameters: readonly unknown[]): void {
  if (parameters.length >= PARAMETERS_END) {
    throw new TypeError(`a statement has ${parameters.length} parameters`)
  }
  const place = parameters.indexOf(undefined)
  if (place >= 0) throw new TypeError(`parameter $${place + 1} of a statement is undefined`)
}

/**
 * Has a socket always hear its errors. The driver removes all listeners when it is closed, and TLS
 * may report an error after that, which would end the process.
 */
function hearErrors<S extends Socket>(socket: S): S {
  const ignore = () => {}
  const removeAll = socket.removeAllListeners.bind(socket)
  socket.removeAllListeners = () => {
    removeAll()
    return socket.on('error', ignore)
  }
  return socket.on('error', ignore)
}

/**
 * All that reading and writing rely on. A role, a database or a cluster may have set something
 * else, as managed services do.
 */
const SESSION_SETTINGS = {
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  default_transaction_isolation: 'read committed',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
} as const

/** The first of these without rules for characters: it keeps the bytes that it gets. */
const ENCODINGS: readonly unknown[] = ['SQL_ASCII', 'UTF8']

/** The first statement of each session: what the server is, and what became of the settings. */
const ASK_SESSION = `select version() as version, pg_is_in_recovery() as is_standby,
  ${['server_encoding', ...Object.keys(SESSION_SETTINGS)]
    .map((name) => `current_setting('${name}', true) as "${name}"`)
    .join(', ')}`

/** The answer to `ASK_SESSION`. A server that does not know a setting answers null. */
type SessionFacts = Readonly<Record<string, unknown>>

/**
 * Refuses a session that the service can't work in. A pooler may have dropped a setting.
 *
 * @throws UnsupportedServerError
 */
function checkSession(facts: SessionFacts): void {
  if (/CockroachDB/i.test(String(facts['version']))) throw UnsupportedServerError.cockroachDb()
  const encoding = facts['server_encoding'] ?? 'UTF8'
  if (!ENCODINGS.includes(encoding)) throw UnsupportedServerError.encoding(String(encoding))
  for (const [name, needed] of Object.entries(SESSION_SETTINGS)) {
    const set = facts[name] ?? needed
    if (set !== needed) throw UnsupportedServerError.setting(name, { set: String(set), needed })
  }
}
