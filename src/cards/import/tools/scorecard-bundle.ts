import type { ImportOptions, SourceBin, SourceCard, SourceFeature } from '../build/card.ts'
import { type Notes, quote } from '../build/notes.ts'
import { readInterval } from '../build/ranges.ts'
import {
  groupRows,
  numberIfAny,
  type Row,
  readNumber,
  readText,
  type Table,
} from '../build/table.ts'

const START = 'StartPoints'

/**
 * Reads the rules of Scorecard-Bundle: numeric intervals `lower~upper`, closed on the right. The
 * base points are spread over the features, or are in a row of their own.
 *
 * @source Scorecard-Bundle 1.2.2, LogisticRegressionScoreCard.py, func_numpy.py
 */
export function readScorecardBundle(
  table: Table,
  options: ImportOptions,
  notes: Notes,
): SourceCard {
  const rowsByName = groupRows(table.rows, 'feature', 'feature', notes)
  const [start, second] = rowsByName.get(START) ?? []
  rowsByName.delete(START)
  if (start !== undefined && options.basePoints !== undefined) {
    notes.fault('base_points', `must be left out: ${start.path} of the file contains them`)
  }
  if (second !== undefined) notes.fault(second.path, `is a second row of ${START}`)
  const basePoints =
    start === undefined ? (options.basePoints ?? 0) : (readNumber(start, 'score', notes) ?? 0)
  return {
    tool: 'scorecard-bundle',
    basePoints,
    features: [...rowsByName].map(([name, rows]) => readFeature(name, rows, notes)),
    rules: {
      unseen: 'Scorecard-Bundle fails.',
      missing: 'Scorecard-Bundle fails.',
      tiles: true,
    },
  }
}

function readFeature(name: string, rows: readonly Row[], notes: Notes): SourceFeature {
  const bins: SourceBin[] = []
  for (const row of rows) {
    const label = readText(row, 'value') ?? ''
    const points = readNumber(row, 'score', notes)
    const range = readInterval(`(${label}]`)
    if (range === null) {
      notes.fault(row.path, `${quote(label)} of ${quote(name)} is not an interval such as "0~10"`)
    } else if (points !== null) {
      const woe = numberIfAny(row, 'woe')
      bins.push({ path: row.path, label, points, woe, members: [{ kind: 'range', range }] })
    }
  }
  return { name, type: 'numeric', bins }
}
