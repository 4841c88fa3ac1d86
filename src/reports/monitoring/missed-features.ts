import { CELL_MISSING } from '../../engine/index.ts'
import type { ApplicantReader, ScannedModel } from '../../log/index.ts'
import type { MonitoredModel } from './monitored.ts'

/** A feature that a model missed of some applicants. */
interface MissedFeature {
  readonly name: string
  /** Number of these applicants. */
  readonly n: number
}

/** Begins to count what a challenger missed. */
export function missedFeatures({ card }: MonitoredModel, challengerId: string): MissedFeatures {
  return new MissedFeatures(
    challengerId,
    card.spec.features.map(({ name }) => name),
  )
}

/** Counts for how many applicants of a report a challenger missed which feature. */
class MissedFeatures {
  private readonly challengerId: string
  private readonly names: readonly string[]
  private readonly counts: Float64Array

  /** @param names the features of the challenger in spec order */
  constructor(challengerId: string, names: readonly string[]) {
    this.challengerId = challengerId
    this.names = names
    this.counts = new Float64Array(names.length)
  }

  /** A reader that counts the applicants of another one, too. */
  beside(reader: ApplicantReader): ApplicantReader {
    return {
      takers: reader.takers,
      ...(reader.memoryMiB !== undefined && { memoryMiB: reader.memoryMiB }),
      makeReader: async (columns) => {
        const part = await reader.makeReader(columns)
        const model = columns.models.find(({ challengerId }) => challengerId === this.challengerId)
        if (part === null || model === undefined) return part
        return {
          takes: part.takes,
          add: (rows) => {
            this.count(model, rows)
            part.add(rows)
          },
        }
      },
    }
  }

  /** The property `missing_features` of a report; none where every feature was there. */
  report(): { missing_features?: MissedFeature[] } {
    const missed = this.names
      .map((name, feature) => ({ name, n: this.counts[feature] ?? 0 }))
      .filter(({ n }) => n > 0)
    return missed.length === 0 ? {} : { missing_features: missed }
  }

  private count({ cells }: ScannedModel, rows: Int32Array): void {
    for (let feature = 0; feature < this.counts.length; feature++) {
      const codes = cells[feature] ?? []
      let missed = 0
      for (let index = 0; index < rows.length; index++) {
        if (codes[rows[index] ?? 0] === CELL_MISSING) missed++
      }
      this.counts[feature] = (this.counts[feature] ?? 0) + missed
    }
  }
}
