import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** What goes wrong with the next requests of a method. */
export interface S3Fault {
  readonly method: 'PUT' | 'GET' | 'HEAD' | 'DELETE'
  /** Answered in place of the request; 0: the connection breaks after the request was done. */
  readonly status: number
  readonly code?: string
  readonly times: number
}

export interface S3ServerOptions {
  /** As servers do that know no `If-None-Match`. */
  readonly ignoresConditions?: boolean
  /** As servers do that give all of an object for any range. */
  readonly ignoresRanges?: boolean
}

const LISTED_MAX = 1_000

/** A small S3 in memory, for faults that no real server makes on demand. */
export class S3Server {
  readonly objects = new Map<string, Buffer>()
  /** Methods and keys of all requests. */
  readonly requests: string[] = []
  options: S3ServerOptions = {}
  delayMs = 0
  /** Whether it gives Parquet files back with another byte. */
  corrupts = false
  private readonly faults: { fault: S3Fault; left: number }[] = []
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch(() => response.destroy())
  })

  static async start(): Promise<S3Server> {
    const server = new S3Server()
    server.server.listen(0, '127.0.0.1')
    await once(server.server, 'listening')
    return server
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  fail(fault: S3Fault): void {
    this.faults.push({ fault, left: fault.times })
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '' } = request
    const url = new URL(request.url ?? '', this.endpoint)
    const key = decodeURIComponent(url.pathname).split('/').slice(2).join('/')
    this.requests.push(`${method} ${key}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (this.delayMs > 0) await delay(this.delayMs)
    const next = this.faults.find(({ fault, left }) => fault.method === method && left > 0)
    if (next !== undefined) next.left--
    if (next !== undefined && next.fault.status > 0) {
      return fail(response, next.fault.status, next.fault.code ?? 'InternalError')
    }
    if (next !== undefined) {
      if (method === 'PUT') this.objects.set(key, body)
      response.destroy()
      return
    }
    if (method === 'PUT') return this.put(request, response, { key, body })
    if (method === 'DELETE') return this.delete(response, key)
    if (url.searchParams.get('list-type') === '2') return this.list(response, url.searchParams)
    return this.get(request, response, key)
  }

  private put(
    { headers }: IncomingMessage,
    response: ServerResponse,
    { key, body }: { readonly key: string; readonly body: Buffer },
  ): undefined {
    const sha256 = createHash('sha256').update(body).digest()
    const isRight =
      headers['x-amz-content-sha256'] === sha256.toString('hex') &&
      headers['x-amz-checksum-sha256'] === sha256.toString('base64') &&
      (headers.authorization ?? '').startsWith('AWS4-HMAC-SHA256 ')
    if (!isRight) return fail(response, 400, 'BadDigest')
    const isConditional = headers['if-none-match'] === '*' && !this.options.ignoresConditions
    if (isConditional && this.objects.has(key)) return fail(response, 412, 'PreconditionFailed')
    this.objects.set(key, body)
    response.writeHead(200, { etag: readEtag(body) }).end()
  }

  private delete(response: ServerResponse, key: string): void {
    this.objects.delete(key)
    response.writeHead(204).end()
  }

  private get(
    { method, headers }: IncomingMessage,
    response: ServerResponse,
    key: string,
  ): undefined {
    const body = this.given(key)
    if (body === undefined) return fail(response, 404, 'NoSuchKey')
    const range = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '')
    if (range === null || this.options.ignoresRanges) {
      response.writeHead(200, { etag: readEtag(body), 'content-length': body.length })
      response.end(method === 'HEAD' ? undefined : body)
      return
    }
    const [from, to] = [Number(range[1]), Number(range[2])]
    if (from >= body.length) return fail(response, 416, 'InvalidRange')
    const part = body.subarray(from, to + 1)
    response.writeHead(206, {
      etag: readEtag(body),
      'content-length': part.length,
      'content-range': `bytes ${from}-${from + part.length - 1}/${body.length}`,
    })
    response.end(part)
  }

  private given(key: string): Buffer | undefined {
    const body = this.objects.get(key)
    if (body === undefined || !this.corrupts || !key.endsWith('.parquet')) return body
    const changed = Buffer.from(body)
    changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1
    return changed
  }

  private list(response: ServerResponse, query: URLSearchParams): void {
    const prefix = query.get('prefix') ?? ''
    const after = query.get('continuation-token') ?? query.get('start-after') ?? ''
    const limit = Math.min(LISTED_MAX, Number(query.get('max-keys') ?? LISTED_MAX))
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > after)
      .sort()
    const page = keys.slice(0, limit)
    const contents = page.map((key) => {
      const body = this.objects.get(key) ?? Buffer.alloc(0)
      return `<Contents><Key>${key}</Key><Size>${body.length}</Size><ETag>${readEtag(body)}</ETag></Contents>`
    })
    const isTruncated = page.length < keys.length
    const token = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    response.writeHead(200, { 'content-type': 'application/xml' })
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${token}${contents.join('')}</ListBucketResult>`,
    )
  }
}

function readEtag(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`
}

function fail(response: ServerResponse, status: number, code: string): undefined {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`)
}
