import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import type { TestDatabase } from '../start/databases.ts'
import { post, ServiceProcess } from '../start/process.ts'
import { PROCESS_OWNER } from '../start/running.ts'
import { numberedSpec } from '../start/team.ts'
import { jsonLines, type ShownBatch } from './batches.ts'

const SETTINGS = {
  JWT_SECRET: 'secret of the tests, long enough',
  BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
  BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
  RATE_LIMIT_PER_MINUTE: '1000000',
}

/** A process with a database that tests may kill, and what they ask of it. */
export class BatchReplica {
  readonly process: ServiceProcess
  readonly url: string
  readonly token: string

  private constructor(process: ServiceProcess, url: string, token: string) {
    this.process = process
    this.url = url
    this.token = token
  }

  static async start(
    { databaseUrl, dataDir }: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>,
    env: Readonly<Record<string, string>> = {},
  ): Promise<BatchReplica> {
    const process = ServiceProcess.start({
      DATA_DIR: dataDir,
      ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }),
      ...SETTINGS,
      ...env,
    })
    onTestFinished(async () => void (await process.stop('SIGKILL')))
    const url = await process.url()
    const { body } = await post(`${url}/api/auth/login`, PROCESS_OWNER)
    return new BatchReplica(process, url, String(body['access_token']))
  }

  async deploy(): Promise<string> {
    const order = { spec: numberedSpec(1), environment: 'production', auto_deploy: true }
    const { body } = await post(`${this.url}/v1/models/deploy`, order, this.token)
    return String((body['deployment'] as { slug: string }).slug)
  }

  async send(slug: string, file: string): Promise<string> {
    const path = `/v1/batches/upload?deployment=${slug}&results=ndjson`
    const response = await this.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body: file,
    })
    expect(response.status).toBe(202)
    return ((await response.json()) as ShownBatch).id
  }

  /** Starts to score a file of the store. */
  async startFile(slug: string, path: string): Promise<string> {
    const response = await this.fetch('/v1/batches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ deployment: slug, input: { path }, results: 'ndjson' }),
    })
    expect(response.status).toBe(202)
    return ((await response.json()) as ShownBatch).id
  }

  async get(id: string): Promise<ShownBatch> {
    return (await (await this.fetch(`/v1/batches/${id}`)).json()) as ShownBatch
  }

  /** Waits until a batch is so far. */
  async until(id: string, isSo: (batch: ShownBatch) => boolean): Promise<ShownBatch> {
    const untilMs = performance.now() + 250_000
    for (;;) {
      const batch = await this.get(id)
      if (isSo(batch)) return batch
      if (performance.now() > untilMs) expect.fail(`it is ${JSON.stringify(batch)}`)
      await delay(5)
    }
  }

  async results(id: string) {
    return jsonLines(await (await this.fetch(`/v1/batches/${id}/results`)).text())
  }

  private fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...init.headers, authorization: `Bearer ${this.token}` }
    return fetch(this.url + path, { ...init, headers })
  }
}

export const hasEnded = ({ finished_at: end }: ShownBatch) => end !== null
