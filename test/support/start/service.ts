import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import inject, { type InjectOptions } from 'light-my-request'
import { afterAll, beforeAll } from 'vitest'
import { buildApp } from '../../../src/app.ts'
import { type Config, loadConfig } from '../../../src/config.ts'
import type { ScoreLog } from '../../../src/log/score-log.ts'
import type { Clock } from '../../../src/platform/clock.ts'
import { createLog } from '../../../src/platform/log.ts'
import { createServices, type Services } from '../../../src/services.ts'
import { DocumentCheck } from '../expect/document-check.ts'
import type { Backend, TestDatabase } from './databases.ts'

export const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }

export interface TestServiceOptions {
  readonly clock?: Clock
  readonly onQuery?: (statement: string) => void
  readonly env?: Readonly<Record<string, string>>
  readonly scoreLog?: ScoreLog
  readonly answerDeadlineMs?: number
  /** Where the score log begins; without it, now. */
  readonly logFromMs?: number
}

interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  /** Sent as `Authorization: Bearer …`. */
  readonly token?: string
  /** An object is sent as JSON, a string as it is. */
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
  /** Where the call comes from; 127.0.0.1 when left out. */
  readonly remoteAddress?: string
}

interface Parts {
  readonly app: FastifyInstance
  readonly services: Services
  readonly config: Config
  readonly database: TestDatabase
}

/** The service as production builds it, on a database of its own, called without a socket. */
export class TestService {
  private parts: Parts | null = null

  static async start(backend: Backend, options: TestServiceOptions = {}): Promise<TestService> {
    const service = new TestService()
    await service.open(backend, options)
    return service
  }

  /** For all tests of a file or group: it starts before them and is closed after them. */
  static forSuite(backend: Backend, options: TestServiceOptions = {}): TestService {
    const service = new TestService()
    beforeAll(() => service.open(backend, options))
    afterAll(() => service.close())
    return service
  }

  get app(): FastifyInstance {
    return this.running.app
  }

  get services(): Services {
    return this.running.services
  }

  get config(): Config {
    return this.running.config
  }

  private get running(): Parts {
    if (this.parts === null) throw new Error('the service has not started')
    return this.parts
  }

  private async open(backend: Backend, options: TestServiceOptions): Promise<void> {
    const database = await backend.create()
    const { databaseUrl, dataDir } = database
    const config = loadConfig({
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl ?? undefined,
      JWT_SECRET: databaseUrl === null ? undefined : 'secret of the tests, long enough',
      LOG_LEVEL: 'silent',
      // What a test sends is not to be measured by the quota, unless it is about it.
      RATE_LIMIT_PER_MINUTE: '1000000',
      ...options.env,
    })
    const services = await createServices(config, {
      log: createLog(config.logLevel),
      ...(options.clock && { clock: options.clock }),
      ...(options.onQuery && { onQuery: options.onQuery }),
      ...(options.scoreLog && { scoreLog: options.scoreLog }),
      ...(options.answerDeadlineMs && { answerDeadlineMs: options.answerDeadlineMs }),
      ...(options.logFromMs !== undefined && { logFromMs: options.logFromMs }),
      onCrash: (error) => {
        throw error
      },
    })
    const app = await buildApp(services, config)
    await services.auth.bootstrapOwner(OWNER.email, OWNER.password)
    this.parts = { app, services, config, database }
  }

  async close(): Promise<void> {
    if (this.parts === null) return
    const { app, services, database } = this.parts
    await app.close()
    await services.close()
    await database.drop()
  }

  /** Every response must be one that the OpenAPI document describes. */
  async call(call: Call): Promise<LightMyRequestResponse> {
    const { method = 'POST', url, token, body, headers, remoteAddress } = call
    const response = await this.inject({
      method,
      url,
      ...(remoteAddress !== undefined && { remoteAddress }),
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { payload: body }),
    })
    DocumentCheck.of(this.app, this.config.publicUrl).expectDocumented({ method, url, response })
    return response
  }

  /** Sends a request to the server, as if it had come from a socket. */
  async inject(request: InjectOptions): Promise<LightMyRequestResponse> {
    await this.app.ready()
    return inject((raw, response) => void this.app.server.emit('request', raw, response), request)
  }

  /** @returns the access token of the first owner */
  async signIn(): Promise<string> {
    const response = await this.call({ url: '/api/auth/login', body: OWNER })
    return response.json().access_token
  }

  /** @returns the slug of a new deployment of the spec */
  async deploy(token: string, spec: object, environment = 'production'): Promise<string> {
    const body = { spec, environment, auto_deploy: true }
    const response = await this.call({ url: '/v1/models/deploy', token, body })
    return response.json().deployment.slug
  }

  /** @returns the secret of a new key */
  async createKey(token: string, order: object = {}): Promise<string> {
    const body = { name: 'key of a test', ...order }
    const response = await this.call({ url: '/v1/keys', token, body })
    return response.json().key
  }
}
