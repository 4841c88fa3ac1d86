import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Static } from '@sinclair/typebox'
import type { Batch } from '../../schemas/batches.ts'

export type RemoteBatch = Static<typeof Batch>

/** The service refused, or could not be reached. */
export class BatchRequestError extends Error {
  /** Whether the same request may succeed later. */
  readonly mayPass: boolean

  constructor(message: string, { mayPass = false, ...options }: FailureOptions = {}) {
    super(message, options)
    this.mayPass = mayPass
  }
}

interface FailureOptions extends ErrorOptions {
  readonly mayPass?: boolean
}

/** What a proxy or the service answers while it is away. */
const PASSING = [502, 503, 504]

interface Order {
  readonly file: string
  readonly type: string
  /** Values of the query; undefined ones are left out. */
  readonly options: Readonly<Record<string, string | undefined>>
}

/** Batches of a running service, through its API. */
export class BatchClient {
  private readonly url: string
  private readonly token: string

  /** @param url of the service, without a slash at the end */
  constructor(url: string, token: string) {
    this.url = url
    this.token = token
  }

  async upload({ file, type, options }: Order): Promise<RemoteBatch> {
    const given = Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    )
    const query = new URLSearchParams(given.map(([name, value]) => [name, value]))
    const body = Readable.toWeb(createReadStream(file))
    const response = await this.send(`/v1/batches/upload?${query}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: body as unknown as ReadableStream,
      duplex: 'half',
    })
    return (await response.json()) as RemoteBatch
  }

  async get(id: string): Promise<RemoteBatch> {
    const response = await this.send(`/v1/batches/${encodeURIComponent(id)}`)
    try {
      return (await response.json()) as RemoteBatch
    } catch (cause) {
      const message = `the service at ${this.url} broke off its answer`
      throw new BatchRequestError(message, { cause, mayPass: true })
    }
  }

  async list(): Promise<readonly RemoteBatch[]> {
    const { batches } = (await (await this.send('/v1/batches')).json()) as {
      batches: RemoteBatch[]
    }
    return batches
  }

  async cancel(id: string): Promise<RemoteBatch> {
    const path = `/v1/batches/${encodeURIComponent(id)}/cancel`
    return (await this.send(path, { method: 'POST' })).json() as Promise<RemoteBatch>
  }

  /**
   * Writes results or errors to a file, which appears when it is complete, or to a stream.
   *
   * @param out name of the file; null: the stream
   */
  async download(
    id: string,
    what: 'results' | 'errors',
    { out, stdout }: { readonly out: string | null; readonly stdout: Writable },
  ): Promise<void> {
    const response = await this.send(`/v1/batches/${encodeURIComponent(id)}/${what}`)
    const { body } = response
    const chunks = body === null ? Readable.from([]) : Readable.fromWeb(body as never)
    if (out === null) {
      await pipeline(chunks, stdout, { end: false })
      return
    }
    const part = `${out}.part`
    try {
      await pipeline(chunks, createWriteStream(part))
      await rename(part, out)
    } catch (cause) {
      await rm(part, { force: true })
      throw new BatchRequestError(`${out} could not be written to its end`, { cause })
    }
  }

  private async send(
    path: string,
    init: RequestInit & { duplex?: 'half' } = {},
  ): Promise<Response> {
    let response: Response
    try {
      const headers = { ...init.headers, authorization: `Bearer ${this.token}` }
      response = await fetch(this.url + path, { ...init, headers, redirect: 'error' })
    } catch (cause) {
      const message = `the service at ${this.url} can't be reached`
      throw new BatchRequestError(message, { cause, mayPass: true })
    }
    if (response.ok) return response
    const body: unknown = await response.json().catch(() => null)
    const hasMessage = typeof body === 'object' && body !== null && 'message' in body
    const reason = hasMessage ? String(body.message) : 'the response gives no reason'
    const mayPass = PASSING.includes(response.status)
    throw new BatchRequestError(`the service answers ${response.status}: ${reason}`, { mayPass })
  }
}
