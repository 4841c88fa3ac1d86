import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Static } from '@sinclair/typebox'
import type { Batch } from '../../schemas/batches.ts'
import { RemoteError, type RemoteService } from './remote-service.ts'

export type RemoteBatch = Static<typeof Batch>

interface Order {
  readonly file: string
  readonly type: string
  /** Values of the query; undefined ones are left out. */
  readonly options: Readonly<Record<string, string | undefined>>
}

/** Batches of a running service, through its API. */
export class BatchClient {
  private readonly service: RemoteService

  constructor(service: RemoteService) {
    this.service = service
  }

  async upload({ file, type, options }: Order): Promise<RemoteBatch> {
    const given = Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    )
    const query = new URLSearchParams(given.map(([name, value]) => [name, value]))
    const body = Readable.toWeb(createReadStream(file))
    const batch = await this.service.readJson(`/v1/batches/upload?${query}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: body as unknown as ReadableStream,
      duplex: 'half',
    })
    return batch as RemoteBatch
  }

  async get(id: string): Promise<RemoteBatch> {
    return (await this.service.readJson(formatPath(id))) as RemoteBatch
  }

  /** Reads a batch that runs, also after the service was away. */
  async watch(id: string, pollMs: number): Promise<RemoteBatch> {
    return (await this.service.readPatiently(formatPath(id), pollMs)) as RemoteBatch
  }

  async list(): Promise<readonly RemoteBatch[]> {
    const { batches } = (await this.service.readJson('/v1/batches')) as { batches: RemoteBatch[] }
    return batches
  }

  async cancel(id: string): Promise<RemoteBatch> {
    return (await this.service.readJson(`${formatPath(id)}/cancel`, {
      method: 'POST',
    })) as RemoteBatch
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
    const response = await this.service.send(`${formatPath(id)}/${what}`)
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
      throw new RemoteError(`${out} could not be written to its end`, { cause })
    }
  }
}

function formatPath(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`
}
