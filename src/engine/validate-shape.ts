import { type IssueList, OUT_OF_RANGE } from './issues.ts'
import type { Steps } from './steps.ts'

const OBJECTS_A_STEP = 1_000

/**
 * Tells whether a value is nested deeper than so many levels, and whether it holds a number beyond
 * the range of a double. Iterative, because hostile input could overflow the stack of a recursive
 * function.
 */
export function* shapeSteps(
  root: unknown,
  levelsMax: number,
): Steps<{ readonly isDeep: boolean; readonly hasOverflow: boolean }> {
  let level: unknown[] = [root]
  let hasOverflow = false
  for (let depth = 0; depth <= levelsMax; depth++) {
    const next: unknown[] = []
    for (const [position, value] of level.entries()) {
      if (position % OBJECTS_A_STEP === 0) yield
      if (typeof value !== 'object' || value === null) continue
      for (const child of Object.values(value)) {
        if (typeof child === 'object' && child !== null) next.push(child)
        else if (isOverflow(child)) hasOverflow = true
      }
    }
    if (next.length === 0) return { isDeep: false, hasOverflow }
    level = next
  }
  return { isDeep: true, hasOverflow }
}

/**
 * Reports each number that is beyond the range of a double and was not reported yet: as an unknown
 * property it would be kept, and given back as null.
 */
export function addOverflows(spec: object, faults: IssueList): void {
  const reported = new Set(faults.toArray().map(({ path }) => path))
  const search = (value: unknown, path: string): void => {
    if (isOverflow(value)) {
      if (!reported.has(path)) faults.add(path, OUT_OF_RANGE)
    } else if (Array.isArray(value)) {
      for (const [index, one] of value.entries()) search(one, `${path}[${index}]`)
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) search(one, `${path}.${name}`)
    }
  }
  for (const [name, value] of Object.entries(spec)) search(value, name)
}

function isOverflow(value: unknown): boolean {
  return typeof value === 'number' && !Number.isFinite(value)
}
