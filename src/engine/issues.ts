/** One fault or warning, at the path of the spec that it is about: `features[3].bins[1].range`. */
export interface SpecIssue {
  readonly path: string
  readonly message: string
}

/** Beyond this many the rest is only counted, so that the answer to a huge bad spec stays readable. */
const ISSUES_MAX = 1_000

/** Collects issues in the order of the spec, bounded. */
export class IssueList {
  private readonly issues: SpecIssue[] = []
  private surplus = 0

  add(path: string, message: string): void {
    if (this.issues.length < ISSUES_MAX) this.issues.push({ path, message })
    else this.surplus++
  }

  get isEmpty(): boolean {
    return this.issues.length === 0
  }

  toArray(): SpecIssue[] {
    if (this.surplus === 0) return [...this.issues]
    return [...this.issues, { path: '', message: `and ${this.surplus} more, not listed` }]
  }
}

/** A JSON object, as opposed to an array, null or a plain value. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a reader of a fault message calls a value of this type. */
export function typeName(value: unknown): string {
  if (value === undefined) return 'is missing'
  if (value === null) return 'is null'
  if (Array.isArray(value)) return 'is an array'
  return `is ${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

/** The finite number at `path`, or `null` after reporting what stands there instead. */
export function readNumber(value: unknown, path: string, faults: IssueList): number | null {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'number') faults.add(path, 'is beyond the range of a double')
  else faults.add(path, `must be a number, but ${typeName(value)}`)
  return null
}
