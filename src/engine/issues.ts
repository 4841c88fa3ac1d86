import { NAME_CHARS_MAX } from './spec.ts'

/** One fault or warning, with its path in the spec: `features[3].bins[1].range`. */
export interface SpecIssue {
  readonly path: string
  readonly message: string
}

/** Further issues are only counted, so that the response to a huge bad spec has a bounded size. */
const ISSUES_MAX = 10_000
const QUOTED_CHARS_MAX = 40

/** Collects issues in the order of the spec, bounded. */
export class IssueList {
  private readonly issues: SpecIssue[] = []
  private surplus = 0

  add(path: string, message: string): void {
    if (this.issues.length < ISSUES_MAX) this.issues.push({ path, message })
    else this.surplus++
  }

  /** Number of all issues, listed or not. */
  get count(): number {
    return this.issues.length + this.surplus
  }

  toArray(): SpecIssue[] {
    if (this.surplus === 0) return [...this.issues]
    return [...this.issues, { path: '', message: `and ${this.surplus} more, not listed` }]
  }
}

export const OUT_OF_RANGE = 'is beyond the range of a double'

/** A JSON object, as opposed to an array, null or a plain value. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The type of a value as a phrase for a message: `is missing`, `is an array`, `is a string`. */
export function typeName(value: unknown): string {
  if (value === undefined) return 'is missing'
  if (value === null) return 'is null'
  if (Array.isArray(value)) return 'is an array'
  return `is ${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

/** The finite number at `path`, or `null` after reporting what was found instead. */
export function readNumber(value: unknown, path: string, faults: IssueList): number | null {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'number') faults.add(path, OUT_OF_RANGE)
  else faults.add(path, `must be a number, but ${typeName(value)}`)
  return null
}

/** Quotes a text of a spec for a message; a long text is shortened. */
export function quote(text: string): string {
  const isLong = text.length > QUOTED_CHARS_MAX
  return JSON.stringify(isLong ? `${text.slice(0, QUOTED_CHARS_MAX)}…` : text)
}

/** Reports a name that is not a text, is empty or too long, or that no database can store. */
export function checkName(value: unknown, path: string, faults: IssueList): void {
  if (typeof value !== 'string') faults.add(path, `must be a text, but ${typeName(value)}`)
  else if (value.trim() === '') faults.add(path, 'must not be empty')
  else if (value.length > NAME_CHARS_MAX) {
    faults.add(path, `must have at most ${NAME_CHARS_MAX} characters, but has ${value.length}`)
  } else if (value.includes('\0') || !value.isWellFormed()) {
    faults.add(path, 'must be Unicode text without NUL characters')
  }
}

/**
 * A scorecard that can't be compiled, which `checkSpec` refuses earlier, or cells that are not the
 * model's. Either is a bug, or damaged data.
 */
export class EngineError extends Error {
  readonly code: EngineErrorCode

  constructor(code: EngineErrorCode, message: string) {
    super(message)
    this.name = 'EngineError'
    this.code = code
  }
}

export type EngineErrorCode = 'range_invalid' | 'scale_invalid' | 'cell_invalid'
