import { parseJson } from '../json.ts'

/** The facts of a record of version 2, but for those that version 3 has no use for. */
interface FactsV2 {
  readonly f: number
  readonly i: string
  readonly a: number
  readonly t: string
  readonly d: string
  readonly k: string
  readonly v: number
  readonly b: number | null
  readonly l: number
  readonly m: boolean
  readonly w: number
  readonly n: number
  readonly s: string
  readonly c: string
  readonly p: string
}

const VERSION = 2

/**
 * The fields, but for the version, of a record as the service wrote it before: JSON texts of results, facts and
 * grades with line breaks between them. What a process of that version left in its spool is drained after
 * an upgrade.
 *
 * @returns null for what is none
 * @throws Error for facts that are no JSON
 */
export function fieldsOfV2(payload: Buffer): readonly string[] | null {
  const [results, facts, grades, ...others] = payload.toString().split('\n')
  if (results === undefined || facts === undefined || grades === undefined) return null
  if (others.length > 0) return null
  const { f, i, a, t, d, k, v, b, l, m, w, n, s, c, p } = parseJson(facts) as FactsV2
  if (f !== VERSION) return null
  return [results, ...[a, i, t, d, v, n, k, b ?? '', l, m, w, s, c, p].map(String), grades]
}
