import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from '@sinclair/typebox'
import { expect } from 'vitest'
import type { Batch } from '../../../schemas/batches.ts'
import type { TestService } from '../start/service.ts'

export type ShownBatch = Static<typeof Batch>

export const FILE_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
} as const

const WAIT_MS = 200_000

/** Files that one caller has scored. */
export class BatchCaller {
  readonly service: TestService
  readonly token: string

  constructor(service: TestService, token: string) {
    this.service = service
    this.token = token
  }

  /** Sends a file, whatever becomes of it. */
  send(
    slug: string,
    file: string | Buffer,
    { format = 'csv', query = '' }: { format?: keyof typeof FILE_TYPES; query?: string } = {},
  ) {
    return this.service.inject({
      method: 'POST',
      url: `/v1/batches/upload?deployment=${slug}${query}`,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': FILE_TYPES[format] },
      payload: file,
    })
  }

  /** Scores a file to its end. */
  async score(...order: Parameters<BatchCaller['send']>): Promise<ShownBatch> {
    const response = await this.send(...order)
    expect(response.statusCode, response.body).toBe(202)
    return this.end(response.json().id)
  }

  call(method: 'GET' | 'POST', path: string, body?: object) {
    const { token } = this
    const url = `/v1/batches${path}`
    return this.service.call({ method, url, token, ...(body !== undefined && { body }) })
  }

  async get(id: string): Promise<ShownBatch> {
    return (await this.call('GET', `/${id}`)).json()
  }

  /** Waits until a batch has ended. */
  async end(id: string): Promise<ShownBatch> {
    const untilMs = performance.now() + WAIT_MS
    for (;;) {
      const batch = await this.get(id)
      if (batch.finished_at !== null) return batch
      if (performance.now() > untilMs) expect.fail(`the batch is still ${batch.status}`)
      await delay(20)
    }
  }

  /** The lines of the results or errors, read as JSON. */
  async lines(id: string, what: 'results' | 'errors') {
    const { body } = await this.call('GET', `/${id}/${what}`)
    return jsonLines(body)
  }

  /** The bytes of the results. */
  async bytes(id: string): Promise<Buffer> {
    return (await this.call('GET', `/${id}/results`)).rawPayload
  }
}

// biome-ignore lint/suspicious/noExplicitAny: lines of any result
export function jsonLines(text: string): any[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line))
}

/** A line of CSV by RFC 4180. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map((cell) => csvCell(cell)).join(',')}\n`
}

function csvCell(cell: string | number | null): string {
  if (cell === null) return ''
  const text = String(cell)
  return /[",\r\n;\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
