import type { SpoolDamage } from './open-papers.ts'

/** Why bytes of a segment are set aside at a start. */
export const TORN = 'the spool ended within a record, which was cut off'
export const FOREIGN =
  'the segment is of another spool: `scoreline spool restore` stores what the log lacks of it'

type Report = (facts: Readonly<Record<string, unknown>>, text: string) => void

const DAMAGES: Readonly<Record<SpoolDamage['part'], string>> = {
  identity: 'the identity of a spool was damaged, and is restored from its other files',
  cursor: 'the cursor of a spool is damaged: the database knows how far it is drained',
  head: 'the head of a segment of a spool is damaged: its records are read all the same',
  lost: 'records of answered scores were taken from a spool before they were drained',
}

/** Faults that an operator should look into, since the start: each is an error in the log. */
export class SpoolFaults {
  private readonly report: Report
  /** Damages that were found: `lost` at any time, the others in spools of ended processes. */
  readonly damages: Record<SpoolDamage['part'], number> = {
    identity: 0,
    cursor: 0,
    head: 0,
    lost: 0,
  }
  /** Number of times that the database lacked records that the spool did not keep any more. */
  lacking = 0

  constructor(report: Report) {
    this.report = report
  }

  note(facts: Readonly<Record<string, unknown>>, text: string): void {
    this.report(facts, text)
  }

  noteDamages(damages: readonly SpoolDamage[]): void {
    for (const { part, ...place } of damages) {
      this.damages[part]++
      this.note(place, DAMAGES[part])
    }
  }

  noteLacking(facts: Readonly<Record<string, unknown>>): void {
    this.lacking++
    this.note(facts, 'the database lacks records that the spool no longer keeps')
  }
}
