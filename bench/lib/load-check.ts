import { type LoadPlan, makeRequest, nameAnswer } from './load-plan.ts'
import { UsageError } from './usage-error.ts'

export interface CheckedAnswers {
  /** All of them were answered with 200. */
  readonly requests: number
  readonly applicants: number
  /** Applicants with each kind of warning, such as `missing_feature: age`. */
  readonly warnings: Readonly<Record<string, number>>
}

const APPLICANTS_MAX = 100
const KEYS_MAX = 100
const TIMEOUT_MS = 10_000

/**
 * Asks for a score with each key and the first applicants, before anything is measured: a load on a
 * wrong address, with a key that is refused or on applicants of another card would measure nothing.
 * One batch more asks for the same applicants, because only a batch tells of missing features.
 *
 * @returns what the answers warn of
 * @throws UsageError for an answer other than 200, and for applicants that lack all features, or
 * where each has the same warning, unless `areWarningsExpected`
 */
export async function checkAnswers(
  plan: LoadPlan,
  applicants: readonly object[],
  areWarningsExpected: boolean,
): Promise<CheckedAnswers> {
  const checked = applicants.slice(0, APPLICANTS_MAX)
  const keys = Math.min(KEYS_MAX, plan.keySecrets.length)
  for (let key = 0; key < keys; key++) await ask(plan, plan.path, makeRequest(plan, key))
  const path = plan.path.replace(/(\/batch)?$/, '/batch')
  const bare = { ...plan, hasIdempotencyKeys: false, hasReferences: false }
  const { headers } = makeRequest(bare, 0)
  const answer = await ask(plan, path, { headers, body: JSON.stringify({ records: checked }) })
  const warnings: Record<string, number> = {}
  for (const result of answer.results ?? []) {
    const kinds = new Set((result.warnings ?? []).map(nameWarning))
    for (const kind of kinds) warnings[kind] = (warnings[kind] ?? 0) + 1
  }
  const wrong = Object.keys(warnings).filter((kind) => isWrong(kind, warnings[kind] ?? 0))
  const [first] = wrong
  if (first !== undefined && !areWarningsExpected) {
    const count = `${warnings[first]} of the first ${checked.length} applicants`
    throw new UsageError(
      `${count} are answered with the warning ${first}: do they belong to this deployment? ` +
        '--allow-warnings measures them nevertheless',
    )
  }
  return { requests: keys + 1, applicants: checked.length, warnings }

  function isWrong(kind: string, count: number): boolean {
    return kind.startsWith('no_features') || count === checked.length
  }
}

type Warning = string | { readonly type: string; readonly variable: string }

interface BatchAnswer {
  readonly results?: readonly { readonly warnings?: readonly Warning[] }[]
}

/** Without the value, which is different for each applicant. */
function nameWarning(warning: Warning): string {
  return typeof warning === 'string' ? warning : `${warning.type}: ${warning.variable}`
}

async function ask(
  { url }: LoadPlan,
  path: string,
  { body, headers }: ReturnType<typeof makeRequest>,
): Promise<BatchAnswer> {
  let response: Response
  let text: string
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    response = await fetch(new URL(path, url), { method: 'POST', headers, body, signal })
    text = await response.text()
  } catch (error) {
    const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException }
    throw new UsageError(`no service answers at ${url}: ${cause?.code ?? message}`)
  }
  if (response.status === 200) return JSON.parse(text) as BatchAnswer
  const key = `${headers['authorization']?.slice('Bearer '.length, 'Bearer '.length + 12)}…`
  const answer = nameAnswer(response.status, text)
  throw new UsageError(`${path} answers ${answer} to the key ${key} before anything is measured`)
}
