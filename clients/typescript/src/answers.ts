/** Says why an answer is not the one that was asked for; null: it is. */
export type Check = (answer: unknown) => string | null

type Fields = Readonly<Record<string, unknown>>

/** Checks the score of one applicant. */
export const checkScore: Check = (answer) => {
  if (!isFields(answer)) return 'is not an object'
  return headFault(answer) ?? resultFault(answer)
}

/**
 * Checks the results of a batch: a result in the place of another one would give an applicant
 * somebody else's score.
 *
 * @param sent the records, in their order
 * @param seen request ids of the answers before, to which this one is added
 */
export function checkResults(sent: readonly object[], seen: Set<string>): Check {
  return (answer) => {
    if (!isFields(answer)) return 'is not an object'
    const { results, request_id: requestId } = answer
    const head = headFault(answer)
    if (head !== null) return head
    if (!Array.isArray(results)) return 'has no list of results'
    if (results.length !== sent.length) {
      return `has ${results.length} results for ${sent.length} records`
    }
    for (const [index, result] of results.entries()) {
      if (!isFields(result)) return `has a result ${index} that is not an object`
      const { id = null } = (sent[index] ?? {}) as { id?: unknown }
      if (result['id'] !== id) return `has the result of another record as result ${index}`
      const fault = resultFault(result)
      if (fault !== null) return `${fault}, in result ${index}`
    }
    // A cache in between would give one answer to two parts.
    if (seen.has(String(requestId))) return 'is that of an earlier part'
    seen.add(String(requestId))
    return null
  }
}

/** Checks the results of so many outcomes, each of which says its position. */
export function checkOutcomes(count: number): Check {
  return (answer) => {
    if (!isFields(answer) || !Array.isArray(answer['results'])) return 'has no list of results'
    const { results, counts } = answer
    if (results.length !== count) return `has ${results.length} results for ${count} outcomes`
    const isInOrder = results.every((one, at) => isFields(one) && one['index'] === at)
    if (!isInOrder) return 'has the results of other outcomes'
    return isFields(counts) && Object.values(counts).every(Number.isFinite) ? null : 'has no counts'
  }
}

function headFault({ request_id: requestId, model_version: version }: Fields): string | null {
  if (typeof requestId !== 'string') return 'has no request_id'
  return typeof version === 'string' ? null : 'has no model_version'
}

function resultFault({ score, pd, risk_grade: grade, warnings, ...rest }: Fields): string | null {
  if (!Number.isFinite(score)) return 'has a score that is not a finite number'
  if (pd !== null && !Number.isFinite(pd)) return 'has a pd that is not a finite number'
  if (grade !== null && typeof grade !== 'string') return 'has a risk_grade that is not a text'
  if (!Array.isArray(warnings)) return 'has no list of warnings'
  const { contributions = {} } = rest
  const isSound = isFields(contributions) && Object.values(contributions).every(Number.isFinite)
  return isSound ? null : 'has contributions that are not finite numbers'
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
