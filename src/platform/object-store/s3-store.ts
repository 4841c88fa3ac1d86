import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ByteRange,
  bytesSource,
  checkKey,
  type ListQuery,
  type ObjectInfo,
  type ObjectSource,
  type ObjectStore,
  ObjectStoreError,
  READ_BYTES_MAX,
} from './object-store.ts'
import { hasContent } from './read-object.ts'
import type { OpenS3 } from './s3-client.ts'

interface S3StoreOptions {
  readonly bucket: string
  readonly prefix: string
  readonly client: OpenS3
  /** Waits before further attempts; see `retried`. */
  readonly waitsMs?: readonly number[]
}

/** Longest time of an attempt, beside that of its bytes. */
const ATTEMPT_MS = 30_000
/** A slower connection counts as failed. */
const BYTES_A_MS_MIN = 256
const WHOLE_STATUS = 200

/**
 * Objects in a bucket of S3, or of a server that is compatible with it.
 *
 * Each call is repeated a bounded number of times if the server is away, answers 5xx, or refuses
 * because of another call at the same time. An attempt whose answer was lost may have stored its
 * object: the next one then finds the same content.
 */
export class S3Store implements ObjectStore {
  readonly url: string
  private readonly options: S3StoreOptions
  private readonly base: string
  /** Null until `probe` has found out; false once the server has said that it knows none. */
  private knowsConditions: boolean | null = null

  constructor(options: S3StoreOptions) {
    const { bucket, prefix } = options
    this.options = options
    this.base = prefix === '' ? '' : `${prefix}/`
    this.url = `s3://${bucket}/${prefix}`
  }

  async put(key: string, source: ObjectSource): Promise<'stored' | 'present'> {
    const isStored = await this.storedIfAbsent(key, source)
    if (isStored) return 'stored'
    if (await hasContent(this, key, source)) return 'present'
    throw new ObjectStoreError('conflict', 'the name of the object has another content')
  }

  async replace(key: string, source: ObjectSource): Promise<void> {
    await this.send(source.bytes, (signal) => this.putObject(key, source, { signal }))
  }

  async head(key: string): Promise<ObjectInfo | null> {
    const { sdk, client } = this.options.client
    const input = this.named(key)
    try {
      return await this.send(0, async (abortSignal) => {
        const { ContentLength, ETag } = await client.send(new sdk.HeadObjectCommand(input), {
          abortSignal,
        })
        return { key, bytes: ContentLength ?? 0, version: ETag ?? '' }
      })
    } catch (error) {
      if (error instanceof ObjectStoreError && error.failure === 'missing') return null
      throw error
    }
  }

  async read(key: string, range: ByteRange, version?: string): Promise<Buffer> {
    if (range.bytes > READ_BYTES_MAX) throw new RangeError('a read is too long')
    if (range.bytes <= 0) return Buffer.alloc(0)
    const input = {
      ...this.named(key),
      Range: `bytes=${range.from}-${range.from + range.bytes - 1}`,
    }
    const { sdk, client } = this.options.client
    return this.send(range.bytes, async (abortSignal) => {
      try {
        const answer = await client.send(new sdk.GetObjectCommand(input), { abortSignal })
        const body = answer.Body as IncomingMessage
        hearErrors(body.socket)
        if (version !== undefined && answer.ETag !== version) {
          body.destroy()
          throw new ObjectStoreError('changed', 'the object has changed')
        }
        // A server that does not know ranges gives all.
        const isWhole = answer.$metadata.httpStatusCode === WHOLE_STATUS
        return await readBytes(body, { from: isWhole ? range.from : 0, bytes: range.bytes })
      } catch (error) {
        if (isRangeAfterEnd(error)) return Buffer.alloc(0)
        throw error
      }
    })
  }

  async list({ prefix, after, limit }: ListQuery): Promise<readonly ObjectInfo[]> {
    const { sdk, client } = this.options.client
    const input = {
      Bucket: this.options.bucket,
      Prefix: this.base + prefix,
      ...(after !== undefined && { StartAfter: this.base + after }),
    }
    const found: ObjectInfo[] = []
    let token: string | undefined
    do {
      const command = new sdk.ListObjectsV2Command({
        ...input,
        MaxKeys: limit - found.length,
        ...(token !== undefined && { ContinuationToken: token }),
      })
      const page = await this.send(0, (abortSignal) => client.send(command, { abortSignal }))
      for (const { Key = '', Size = 0, ETag = '' } of page.Contents ?? []) {
        found.push({ key: Key.slice(this.base.length), bytes: Size, version: ETag })
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined
    } while (token !== undefined && found.length < limit)
    return found
  }

  async delete(key: string): Promise<void> {
    const { sdk, client } = this.options.client
    const input = this.named(key)
    await this.send(0, (abortSignal) =>
      client.send(new sdk.DeleteObjectCommand(input), { abortSignal }),
    )
  }

  async probe(): Promise<boolean> {
    const key = `_probe-${randomBytes(8).toString('hex')}`
    const textSource = (text: string) => bytesSource(Buffer.from(text))
    try {
      await this.put(key, textSource('first'))
      const isKept =
        this.knowsConditions !== false && !(await this.storedOnce(key, textSource('second')))
      this.knowsConditions = isKept
      return isKept
    } finally {
      await this.delete(key)
    }
  }

  /** A server keeps nothing of an object that is not whole. */
  async sweep(): Promise<void> {}

  close(): void {
    this.options.client.client.destroy()
  }

  /**
   * Leaves it to the server to refuse a key that exists.
   *
   * @returns false if it exists
   */
  private async storedOnce(key: string, source: ObjectSource): Promise<boolean> {
    try {
      return await this.send(source.bytes, async (signal) => {
        try {
          await this.putObject(key, source, { signal, isConditional: true })
          return true
        } catch (error) {
          if (isConditionFailed(error)) return false
          throw error
        }
      })
    } catch (error) {
      if (!knowsNoConditions(error instanceof Error ? error.cause : error)) throw error
      this.knowsConditions = false
      return this.storedIfAbsent(key, source)
    }
  }

  /**
   * Asks first, unless the server is known to refuse a key that exists: one that ignores conditions
   * says nothing. To ask is not atomic, but callers have one writer at a time.
   */
  private async storedIfAbsent(key: string, source: ObjectSource): Promise<boolean> {
    if (this.knowsConditions !== true && (await this.head(key)) !== null) return false
    if (this.knowsConditions !== false) return this.storedOnce(key, source)
    await this.send(source.bytes, (signal) => this.putObject(key, source, { signal }))
    return true
  }

  private async putObject(
    key: string,
    { bytes, sha256, open }: ObjectSource,
    { signal, isConditional = false }: { signal: AbortSignal; isConditional?: boolean },
  ): Promise<void> {
    const { sdk, client } = this.options.client
    const content = open()
    const body =
      content instanceof Readable ? content : Readable.from(content, { objectMode: false })
    const reading = new AbortController()
    // Without a listener an error of the content would end the process.
    body.on('error', (error) => reading.abort(error))
    const command = new sdk.PutObjectCommand({
      ...this.named(key),
      Body: body,
      ContentLength: bytes,
      ChecksumSHA256: sha256.toString('base64'),
      ...(isConditional && { IfNoneMatch: '*' }),
    })
    // The signature covers the content, which the client does not do for a stream.
    command.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { headers: Record<string, string> }
        headers['x-amz-content-sha256'] = sha256.toString('hex')
        return next(args)
      },
      { step: 'build', name: 'hashOfContent' },
    )
    try {
      await client.send(command, { abortSignal: AbortSignal.any([signal, reading.signal]) })
    } finally {
      // The client leaves the content of a failed attempt as it is, and with it an open file.
      body.destroy()
    }
  }

  private named(key: string): { readonly Bucket: string; readonly Key: string } {
    checkKey(key)
    return { Bucket: this.options.bucket, Key: this.base + key }
  }

  private send<T>(bytes: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return retried(async () => {
      try {
        return await call(AbortSignal.timeout(ATTEMPT_MS + Math.ceil(bytes / BYTES_A_MS_MIN)))
      } catch (error) {
        throw makeObjectStoreError(error)
      }
    }, this.options.waitsMs)
  }
}

/** TLS may report an error when nobody else hears the socket any more, which ends the process. */
function hearErrors(socket: Socket): void {
  if (!socket.listeners('error').includes(ignoreError)) socket.on('error', ignoreError)
}

function ignoreError(): void {}

/** Part of a body; the rest is not read. */
async function readBytes(body: Readable, { from, bytes }: ByteRange): Promise<Buffer> {
  const chunks: Buffer[] = []
  let [skipped, length] = [0, 0]
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const begin = Math.min(chunk.length, from - skipped)
    skipped += begin
    const part = chunk.subarray(begin, begin + bytes - length)
    chunks.push(part)
    length += part.length
    if (length === bytes) break
  }
  return Buffer.concat(chunks)
}

/** Waits before the second attempt and those after it: some 5 s in all. */
const WAITS_MS = [200, 600, 1_400, 3_000] as const
/** Attempts of clients that failed together are spread by this share of a wait. */
const SPREAD = 0.25

/**
 * Repeats a call that fails with `away`, a bounded number of times.
 *
 * @param waitsMs before each further attempt
 */
async function retried<T>(
  attempt: () => Promise<T>,
  waitsMs: readonly number[] = WAITS_MS,
): Promise<T> {
  for (const waitMs of waitsMs) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ObjectStoreError && error.failure === 'away')) throw error
      await delay(waitMs * (1 - SPREAD + 2 * SPREAD * Math.random()))
    }
  }
  return attempt()
}

/** S3's answers to a condition that does not hold. */
const CONDITION_FAILED = 412
/** Answers of servers that know no conditions. */
const NOT_IMPLEMENTED = 501
const RANGE_AFTER_END = 416
/** The request was right, and may succeed when it is sent again. */
const PASSING_STATUSES = [408, 409, 425, 429]
const PASSING_CODES = ['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException']
/** Without credentials no call leaves the process. */
const NO_CREDENTIALS = 'CredentialsProviderError'

/** The facts of an error of the client; the status is null without an answer. */
interface S3Failure {
  readonly status: number | null
  readonly code: string
}

/** Returns what an error of the client says. */
function classifyS3Failure(error: unknown): S3Failure {
  if (!(error instanceof Error)) return { status: null, code: 'unknown error' }
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode ?? null
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { status, code }
}

function isConditionFailed(error: unknown): boolean {
  return classifyS3Failure(error).status === CONDITION_FAILED
}

/** Tells whether a server answers that it does not know conditions. */
function knowsNoConditions(error: unknown): boolean {
  const { status, code } = classifyS3Failure(error)
  return status === NOT_IMPLEMENTED || code === 'NotImplemented'
}

function isRangeAfterEnd(error: unknown): boolean {
  return classifyS3Failure(error).status === RANGE_AFTER_END
}

/** Says what a failure of the client means. The message has no bucket, key or credential. */
function makeObjectStoreError(error: unknown): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error
  const { status, code } = classifyS3Failure(error)
  const message = `the object store fails: ${status ?? 'no answer'} (${code})`
  if (status === 404 && code !== 'NoSuchBucket') {
    return new ObjectStoreError('missing', 'there is no such object', error)
  }
  const isPassing =
    status === null
      ? code !== NO_CREDENTIALS && !isFaultOfCaller(error)
      : (status >= 500 && status !== NOT_IMPLEMENTED) ||
        PASSING_STATUSES.includes(status) ||
        PASSING_CODES.includes(code)
  return new ObjectStoreError(isPassing ? 'away' : 'refused', message, error)
}

/** A mistake of the code, which the next attempt would repeat. */
function isFaultOfCaller(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError
}
