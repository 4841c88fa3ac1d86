import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { UsageError } from './usage-error.ts'

/** What a load sends to one deployment: bodies and keys, each in turn. */
export interface LoadPlan {
  /** Origin of the service. */
  readonly url: string
  readonly path: string
  readonly bodies: readonly string[]
  readonly keySecrets: readonly string[]
  readonly hasIdempotencyKeys: boolean
  readonly hasReferences: boolean
  /** Begins what no other request has. */
  readonly run: string
}

interface PlanOptions {
  readonly url: string
  readonly slug: string
  readonly applicants: readonly object[]
  readonly keySecrets: readonly string[]
  /** Records of each request; null for single scores. */
  readonly batchRecords: number | null
  readonly hasIdempotencyKeys: boolean
  readonly hasReferences: boolean
}

export function makePlan(options: PlanOptions): LoadPlan {
  const { url, slug, applicants, keySecrets, batchRecords } = options
  const { hasIdempotencyKeys, hasReferences } = options
  const path = `/v1/score/${encodeURIComponent(slug)}`
  const common = { url, keySecrets, hasIdempotencyKeys, hasReferences, run: '' }
  if (batchRecords === null) {
    const bodies = applicants.map((applicant) => JSON.stringify(applicant))
    return renew({ ...common, path, bodies })
  }
  const records = Array.from(
    { length: batchRecords },
    (_, at) => applicants[at % applicants.length] ?? {},
  )
  return renew({ ...common, path: `${path}/batch`, bodies: [JSON.stringify({ records })] })
}

/** The same plan, of which the requests are numbered from 0 again. */
export function renew(plan: LoadPlan): LoadPlan {
  return { ...plan, run: `load-${randomBytes(6).toString('hex')}` }
}

/** Makes the request of a number, from 0, which no two requests of a run have. */
export function makeRequest(
  plan: LoadPlan,
  number: number,
): { readonly body: string; readonly headers: Record<string, string> } {
  const { bodies, keySecrets, hasIdempotencyKeys, hasReferences, run } = plan
  const headers: Record<string, string> = {
    authorization: `Bearer ${keySecrets[number % keySecrets.length]}`,
    'content-type': 'application/json',
  }
  if (hasIdempotencyKeys) headers['idempotency-key'] = `${run}-${number}`
  if (hasReferences) headers['x-reference-id'] = `${run}-${number}`
  return { body: bodies[number % bodies.length] ?? '', headers }
}

/** Names an answer for counting: by its status, a refusal with its code. */
export function nameAnswer(status: number, body: string): string {
  if (status === 200) return '200'
  const [, code] = /"error":\s*"(\w+)"/.exec(body) ?? []
  return code === undefined ? `${status}` : `${status} ${code}`
}

/**
 * Reads applicants from JSON (an array, or one) or from NDJSON.
 *
 * @throws UsageError that names the file
 */
export function readApplicants(file: string): object[] {
  const text = readText(file)
  let values: unknown[]
  try {
    values = [JSON.parse(text)].flat()
  } catch {
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    try {
      values = lines.map((line) => JSON.parse(line) as unknown)
    } catch {
      throw new UsageError(`${file} is neither JSON nor NDJSON`)
    }
  }
  const isObject = (value: unknown) => typeof value === 'object' && value !== null
  if (values.length === 0 || !values.every(isObject)) {
    throw new UsageError(`${file} must hold one object for each applicant`)
  }
  return values as object[]
}

/**
 * Reads API keys, one a line.
 *
 * @throws UsageError that names the file
 */
export function readKeys(file: string): string[] {
  const keys = readText(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (keys.length === 0) throw new UsageError(`${file} must hold one API key a line`)
  return keys
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} can't be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}
