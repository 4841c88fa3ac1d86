import { type IssueList, isObject, readNumber, typeName } from './issues.ts'
import {
  BINS_MAX,
  BINS_PER_FEATURE_MAX,
  CATEGORIES_MAX,
  FEATURES_MAX,
  NAME_CHARS_MAX,
  RESERVED_FEATURE_NAMES,
} from './spec.ts'
import type { Steps } from './steps.ts'
import { type BinText, checkCategories, checkRanges } from './validate-bins.ts'

/** Least and most points that a feature can add; both 0 when its bins can't be read. */
interface PointsRange {
  readonly least: number
  readonly most: number
}

interface CheckedBins extends PointsRange {
  readonly categories: number
}

/**
 * Checks the features and their bins.
 *
 * @param basePoints start of the sum; no sum of points may overflow a double
 */
export function* checkFeatures(
  value: unknown,
  basePoints: number,
  faults: IssueList,
  warnings: IssueList,
): Steps<void> {
  if (!Array.isArray(value) || value.length === 0) {
    const found = Array.isArray(value) ? 'is empty' : typeName(value)
    faults.add('features', `must be an array of at least one feature, but ${found}`)
    return
  }
  if (value.length > FEATURES_MAX) {
    faults.add('features', `must be at most ${FEATURES_MAX}, but are ${value.length}`)
    return
  }
  const bins = countBins(value)
  if (bins > BINS_MAX) {
    faults.add('features', `must have at most ${BINS_MAX} bins together, but have ${bins}`)
    return
  }
  const indexOfName = new Map<string, number>()
  let categories = 0
  let least = basePoints
  let most = basePoints
  for (const [index, feature] of value.entries()) {
    const path = `features[${index}]`
    if (!isObject(feature)) {
      faults.add(path, `must be an object, but ${typeName(feature)}`)
      continue
    }
    checkFeatureName(feature['name'], index, indexOfName, faults)
    const checked = yield* checkBins(feature, path, faults, warnings)
    checkWoeValues(feature['woe_values'], feature['bins'], `${path}.woe_values`, faults)
    categories += checked.categories
    least += checked.least
    most += checked.most
    yield
  }
  if (categories > CATEGORIES_MAX) {
    const found = `but have ${categories}`
    faults.add('features', `must have at most ${CATEGORIES_MAX} categories together, ${found}`)
  }
  if (!Number.isFinite(least) || !Number.isFinite(most)) {
    faults.add('features', 'have points whose sum is beyond the range of a double')
  }
}

function countBins(features: readonly unknown[]): number {
  let bins = 0
  for (const feature of features) {
    if (isObject(feature) && Array.isArray(feature['bins'])) bins += feature['bins'].length
  }
  return bins
}

function checkFeatureName(
  name: unknown,
  index: number,
  indexOfName: Map<string, number>,
  faults: IssueList,
): void {
  const path = `features[${index}].name`
  if (typeof name !== 'string') {
    faults.add(path, `must be a text, but ${typeName(name)}`)
    return
  }
  const other = indexOfName.get(name)
  if (name === '') faults.add(path, 'must not be empty')
  else if (name.length > NAME_CHARS_MAX) {
    faults.add(path, `must have at most ${NAME_CHARS_MAX} characters, but has ${name.length}`)
  } else if (RESERVED_FEATURE_NAMES.has(name)) {
    faults.add(path, `must not be ${name}, which has a special meaning in a request`)
  } else if (other !== undefined) {
    faults.add(path, `is already the name of features[${other}]`)
  }
  if (other === undefined) indexOfName.set(name, index)
}

function* checkBins(
  feature: Record<string, unknown>,
  path: string,
  faults: IssueList,
  warnings: IssueList,
): Steps<CheckedBins> {
  const { type, bins } = feature
  const isNumeric = type === 'numeric'
  if (!isNumeric && type !== 'categorical') {
    faults.add(`${path}.type`, 'must be "numeric" or "categorical"')
  }
  if (!Array.isArray(bins) || bins.length === 0) {
    const found = Array.isArray(bins) ? 'is empty' : typeName(bins)
    faults.add(`${path}.bins`, `must be an array of at least one bin, but ${found}`)
    return { least: 0, most: 0, categories: 0 }
  }
  if (bins.length > BINS_PER_FEATURE_MAX) {
    faults.add(`${path}.bins`, `must be at most ${BINS_PER_FEATURE_MAX}, but are ${bins.length}`)
    return { least: 0, most: 0, categories: 0 }
  }
  const texts: BinText[] = []
  for (const [bin, content] of bins.entries()) {
    if (isObject(content)) texts.push({ bin, text: content[isNumeric ? 'range' : 'value'] })
    else faults.add(`${path}.bins[${bin}]`, `must be an object, but ${typeName(content)}`)
  }
  let categories = 0
  if (isNumeric) checkRanges(texts, { path, faults, warnings })
  else if (type === 'categorical') {
    categories = yield* checkCategories(texts, { path, faults, warnings })
  }
  return { ...checkPoints(bins, path, faults), categories }
}

function checkPoints(bins: readonly unknown[], path: string, faults: IssueList): PointsRange {
  let least = 0
  let most = 0
  for (const [index, bin] of bins.entries()) {
    if (!isObject(bin)) continue
    const points = readNumber(bin['points'], `${path}.bins[${index}].points`, faults) ?? 0
    least = Math.min(least, points)
    most = Math.max(most, points)
  }
  return { least, most }
}

/** Stored for the modeler, not used in scoring: a number for each bin, or an object of numbers. */
function checkWoeValues(value: unknown, bins: unknown, path: string, faults: IssueList): void {
  if (value === undefined) return
  if (Array.isArray(value)) {
    if (Array.isArray(bins) && value.length !== bins.length) {
      faults.add(
        path,
        `must be one number for each of ${bins.length} bins, but are ${value.length}`,
      )
    }
    for (const [index, woe] of value.entries()) readNumber(woe, `${path}[${index}]`, faults)
  } else if (isObject(value)) {
    for (const [name, woe] of Object.entries(value)) readNumber(woe, `${path}.${name}`, faults)
  } else {
    faults.add(path, `must be an array or an object of numbers, but ${typeName(value)}`)
  }
}
