import { readFileSync } from 'node:fs'
import type { Static } from '@sinclair/typebox'
import type { TokenResult } from '../../../schemas/auth.ts'
import type { ErrorBody } from '../../../schemas/errors.ts'
import type { CreatedKey } from '../../../schemas/keys.ts'
import type { DeployResult } from '../../../schemas/models.ts'
import type { ScoreBatchResult, ScoreResult } from '../../../schemas/scoring.ts'
import { AppError } from '../../errors.ts'

/** Calls the service over HTTP, as a program of a user does. */
export class DemoClient {
  private readonly url: string
  private readonly accessToken: string

  private constructor(url: string, accessToken: string) {
    this.url = url
    this.accessToken = accessToken
  }

  static async signIn(url: string, email: string, password: string): Promise<DemoClient> {
    const login = `${url}/api/auth/login`
    const tokens = await post<Static<typeof TokenResult>>(login, null, { email, password })
    return new DemoClient(url, tokens.access_token)
  }

  /** @returns the URL that scores with the new deployment */
  async deploy(spec: object): Promise<{ endpoint: string }> {
    const body = { spec, environment: 'production', description: 'Demo', auto_deploy: true }
    const url = `${this.url}/v1/models/deploy`
    const { deployment } = await post<Static<typeof DeployResult>>(url, this.accessToken, body)
    if (deployment === null) throw new Error('the model was registered, not deployed')
    return deployment
  }

  async createKey(): Promise<string> {
    const body = { name: 'Demo', scopes: ['score'], environment: 'production' }
    const url = `${this.url}/v1/keys`
    return (await post<Static<typeof CreatedKey>>(url, this.accessToken, body)).key
  }

  score(
    endpoint: string,
    keySecret: string,
    applicant: object,
  ): Promise<Static<typeof ScoreResult>> {
    return post(endpoint, keySecret, applicant)
  }

  /** @param lang language of the texts */
  scoreWithReasons(
    endpoint: string,
    keySecret: string,
    { applicant, lang }: { readonly applicant: object; readonly lang: string },
  ): Promise<Static<typeof ScoreResult>> {
    return post(`${endpoint}?reasons=4&lang=${lang}`, keySecret, applicant)
  }

  scoreBatch(
    endpoint: string,
    keySecret: string,
    applicants: readonly DemoApplicant[],
  ): Promise<Static<typeof ScoreBatchResult>> {
    const records = applicants.map(({ id, applicant }) => ({ id, ...applicant }))
    return post(`${endpoint}/batch`, keySecret, { records, include_contributions: true })
  }
}

async function post<T>(url: string, token: string | null, body: object): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  if (response.status === 503) {
    const { message } = (await response.json()) as Static<typeof ErrorBody>
    throw new AppError('unavailable', message)
  }
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  // The schema of the service describes the response. The demo trusts it.
  return (await response.json()) as T
}

/** One applicant of the sample, with the score and points that the modeling library gave. */
export interface DemoApplicant {
  readonly id: string
  readonly applicant: Readonly<Record<string, string | number>>
  readonly score: number
  readonly contributions: Readonly<Record<string, number>>
}

const SAMPLE = new URL('./german-credit/', import.meta.url)

export function readSample<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, SAMPLE), 'utf8')) as T
}
