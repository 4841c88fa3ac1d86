import type { Caller } from '../http/access/caller.ts'
import { REPORTS, type Reports } from './reports.ts'

/** A report: its subject, its name, and the arguments of its method. */
interface AskedReport {
  readonly subject: keyof Reports
  readonly name: string
  readonly args: readonly [Caller, ...unknown[]]
}

type Report = (...args: readonly [Caller, ...unknown[]]) => Promise<unknown>

/**
 * Reports of which callers who ask the same at once get the same one: ten consoles that show a page
 * cost what one does.
 *
 * @param make makes a report with the arguments, and so with the answer, of its own method
 */
export function sharedReports(make: (asked: AskedReport) => Promise<unknown>): Reports {
  /** Reports under way by what was asked. */
  const shared = new Map<string, Promise<unknown>>()
  const ask = (asked: AskedReport): Promise<unknown> => {
    const [caller, ...rest] = asked.args
    const key = JSON.stringify([asked.subject, asked.name, visibleTo(caller), rest])
    const known = shared.get(key)
    if (known !== undefined) return known
    const made = make(asked)
    shared.set(key, made)
    const forget = () => shared.delete(key)
    made.then(forget, forget)
    return made
  }
  const named = <Subject extends keyof Reports>(subject: Subject): Reports[Subject] => {
    const reports: Record<string, Report> = {}
    for (const name of REPORTS[subject]) {
      reports[String(name)] = (...args) => ask({ subject, name: String(name), args })
    }
    return reports as unknown as Reports[Subject]
  }
  return {
    monitoring: named('monitoring'),
    performance: named('performance'),
    reasons: named('reasons'),
    comparisons: named('comparisons'),
    changes: named('changes'),
    overview: named('overview'),
  }
}

/** The same reports, shared. */
export function sharing(reports: Reports): Reports {
  return sharedReports(({ subject, name, args }) => {
    const ofSubject = reports[subject] as unknown as Record<string, Report>
    const report = ofSubject[name]
    if (report === undefined) throw new TypeError(`there is no report ${subject}.${name}`)
    return report.apply(ofSubject, [...args])
  })
}

/** All of a caller that a report depends on. */
function visibleTo(caller: Caller): readonly unknown[] {
  return [caller.teamId, caller.kind, caller.kind === 'key' ? caller.environment : null]
}
